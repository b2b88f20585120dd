# What every compiled target of Outback has in common, set target by target so that nothing leaks into a vendor's
# project: C++20 without extensions, position independent, hidden symbols, our warnings, no paths of the machine that
# builds in messages, ccache where there is one.
include_guard(GLOBAL)

find_program(OUTBACK_CCACHE ccache DOC "Used for Outback's own targets unless a launcher is set already")
mark_as_advanced(OUTBACK_CCACHE)
if(OUTBACK_CCACHE)
  set(_outback_launcher "${OUTBACK_CCACHE}")
  # ccache compares paths. With those below the build's folder relative, the torch half that one project compiled is
  # found by the next, and by a build in a temporary folder. In Outback's own build that folder is the repository, so
  # that every clone finds what another has compiled; the names of sources in debug information are relative there, and
  # the folder of the build, which ccache would compare for it, is the compiler's business. Whoever has set a base keeps it.
  execute_process(
    COMMAND "${OUTBACK_CCACHE}" --get-config base_dir
    OUTPUT_VARIABLE _outback_base
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT _outback_base)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${CMAKE_BINARY_DIR}" NORMALIZE _outback_inside)
    if(PROJECT_IS_TOP_LEVEL AND _outback_inside)
      set(_outback_variables "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
                             CCACHE_SLOPPINESS=pch_defines,time_macros) # for precompiled headers
    else()
      set(_outback_variables "CCACHE_BASEDIR=${CMAKE_BINARY_DIR}")
    endif()
    # What that option does shows in what is compiled.
    list(APPEND _outback_variables "CCACHE_IGNOREOPTIONS=-fmacro-prefix-map=*")
    list(PREPEND _outback_launcher "${CMAKE_COMMAND}" -E env ${_outback_variables})
  endif()
  set_property(GLOBAL PROPERTY OUTBACK_LAUNCHER "${_outback_launcher}")
endif()

# outback_target_defaults(<target>)
function(outback_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               POSITION_INDEPENDENT_CODE ON
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON)
  # The sources of a unity build are included by their full path, which is then what __FILE__ says in a check's message.
  cmake_path(GET CMAKE_CURRENT_FUNCTION_LIST_DIR PARENT_PATH sources)
  target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${sources}/=")
  if(OUTBACK_WARNINGS)
    target_compile_options(
      ${target} PRIVATE -Wall -Wextra $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                        $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual> $<$<BOOL:${OUTBACK_WERROR}>:-Werror>)
  endif()
  get_property(launcher GLOBAL PROPERTY OUTBACK_LAUNCHER)
  if(launcher AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES C_COMPILER_LAUNCHER "${launcher}" CXX_COMPILER_LAUNCHER "${launcher}")
  endif()
endfunction()

# outback_unity(<target>): compiles <target> as one file, where OUTBACK_UNITY asks for it.
#
# The headers of torch take 10 seconds, those of libtorch_python 13, and a file of ours one; what the headers'
# templates become is compiled once too, instead of once in each batch. The torch half takes not quite as long as all else
# that a backend is made of, so that two cores are busy.
#
# OUTBACK_UNITY_BATCH divides that file, for those who edit Outback: they wait for one batch after an edit.
function(outback_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${OUTBACK_UNITY} UNITY_BUILD_BATCH_SIZE ${OUTBACK_UNITY_BATCH})
endfunction()

# outback_add_runtime(<name> SOURCES <file>...): the library outback::runtime_<name>, which sees no torch.
function(outback_add_runtime name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT arg_SOURCES)
    return()
  endif()
  find_package(Threads REQUIRED)
  add_library(outback_runtime_${name} STATIC ${arg_SOURCES})
  add_library(outback::runtime_${name} ALIAS outback_runtime_${name})
  target_include_directories(outback_runtime_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(outback_runtime_${name} PUBLIC outback::runtime Threads::Threads)
  target_link_libraries(outback_runtime_${name} PRIVATE outback_runtimes_shared)
  outback_target_defaults(outback_runtime_${name})
  outback_unity(outback_runtime_${name})
endfunction()
