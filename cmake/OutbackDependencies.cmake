# What tests and benchmarks need beyond torch: the system's packages, and only where there are none, a download.
#
# Included by tests/CMakeLists.txt and bench/CMakeLists.txt, and by the first runtime suite of a vendor's project. Such a
# project gets the targets for all of its folders, and a download's options as cache entries.
include_guard(GLOBAL)
include(FetchContent)

# outback_dependency(<package> <target> <name> <debian> <repository> <tag>)
#
# Makes <target> available in all folders. Prints one line before a download, and stops where there can be none.
#
#   <package>      as find_package has it: GTest
#   <target>       of that package, what is needed: GTest::gmock
#   <name>         for people: GoogleTest
#   <debian>       for people, Debian's packages: libgtest-dev libgmock-dev
#   <repository>   what is downloaded where the system has no such package
#   <tag>          of the repository, a release
function(outback_dependency package target name debian repository tag)
  find_package(${package} QUIET GLOBAL)
  if(TARGET ${target})
    return()
  endif()
  if(${package}_FOUND) # a part of it, beside which a whole one cannot be
    message(FATAL_ERROR "Outback: the ${name} of this system has no ${target}; install ${debian} (Debian's name).")
  endif()
  _outback_announce_download("${package}" "${name}" "${debian}" "${repository}" "${tag}")
  set(INSTALL_GTEST OFF)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  FetchContent_Declare(${package} GIT_REPOSITORY "${repository}" GIT_TAG ${tag} GIT_SHALLOW ON)
  FetchContent_MakeAvailable(${package})
endfunction()

# _outback_announce_download(<package> <name> <debian> <repository> <tag>), as outback_dependency has them: says what is
# downloaded, before that begins; and stops where it cannot be, which git and CMake would say in forty lines.
function(_outback_announce_download package name debian repository tag)
  string(TOUPPER "${package}" upper)
  string(TOLOWER "${package}" lower)
  if(FETCHCONTENT_FULLY_DISCONNECTED
     OR FETCHCONTENT_SOURCE_DIR_${upper}
     OR EXISTS "${FETCHCONTENT_BASE_DIR}/${lower}-src")
    return() # it is there
  endif()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env GIT_TERMINAL_PROMPT=0 git ls-remote "${repository}" HEAD
    TIMEOUT 30
    RESULT_VARIABLE failed
    OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    message(FATAL_ERROR "Outback: this system has no ${name}, and ${repository} cannot be reached: install ${debian} "
                        "(Debian's name).")
  endif()
  message(STATUS "Outback: this system has no ${name} (on Debian: ${debian}), downloading ${tag} of ${repository}")
endfunction()

# outback_need_gtest(), outback_need_benchmark(), outback_need_fmt(): GTest::gmock, benchmark::benchmark, or
# fmt::fmt-header-only, in Debian 12's versions, which the code is known to build with; nothing here needs newer ones.
#
# Macros: find_package sets variables of the calling folder, which its own later calls read.
macro(outback_need_gtest)
  outback_dependency(GTest GTest::gmock "GoogleTest" "libgtest-dev libgmock-dev"
                     https://github.com/google/googletest.git release-1.12.1)
endmacro()
macro(outback_need_benchmark)
  outback_dependency(benchmark benchmark::benchmark "Google Benchmark" "libbenchmark-dev"
                     https://github.com/google/benchmark.git v1.7.1)
endmacro()
macro(outback_need_fmt)
  outback_dependency(fmt fmt::fmt-header-only "fmt" "libfmt-dev" https://github.com/fmtlib/fmt.git 9.1.0)
endmacro()
