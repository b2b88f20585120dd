# What tests and benchmarks need beyond torch: the system's packages, and only where there are none, a download.
include_guard(GLOBAL)
include(FetchContent)

# outback_dependency(<package> <target> <repository> <tag>): makes <target> available.
function(outback_dependency package target repository tag)
  find_package(${package} QUIET GLOBAL)
  if(TARGET ${target})
    return()
  endif()
  message(STATUS "Outback: this system has no ${package}, fetching ${tag}")
  set(INSTALL_GTEST OFF)
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  FetchContent_Declare(${package} GIT_REPOSITORY "${repository}" GIT_TAG ${tag} GIT_SHALLOW ON)
  FetchContent_MakeAvailable(${package})
endfunction()

# Debian 12's versions, which the code is known to build with; nothing here needs newer ones.
macro(outback_need_gtest)
  outback_dependency(GTest GTest::gmock https://github.com/google/googletest.git release-1.12.1)
endmacro()
macro(outback_need_benchmark)
  outback_dependency(benchmark benchmark::benchmark https://github.com/google/benchmark.git v1.7.1)
endmacro()
macro(outback_need_fmt)
  outback_dependency(fmt fmt::fmt-header-only https://github.com/fmtlib/fmt.git 9.1.0)
endmacro()
