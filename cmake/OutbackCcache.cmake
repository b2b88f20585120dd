# ccache for Outback's own targets, where this machine has it. A project's targets are left alone.
#
# Included by ../CMakeLists.txt. OutbackTarget.cmake gives each of our targets what it finds, and tests/CMakeLists.txt gives
# it to the examples.
#
#   OUTBACK_CCACHE     cache entry, a program: the ccache that is found; empty (-D OUTBACK_CCACHE=) for none
#   OUTBACK_LAUNCHER   global property, a list: the command to start compilers with; unset where there is no ccache
include_guard(GLOBAL)

find_program(OUTBACK_CCACHE ccache DOC "Used for Outback's own targets unless a launcher is set already")
mark_as_advanced(OUTBACK_CCACHE)
if(NOT OUTBACK_CCACHE)
  return()
endif()

set(_outback_launcher "${OUTBACK_CCACHE}")
# ccache compares paths. With those below the build's folder relative, the torch half that one project compiled is found by
# the next, and by a build in a temporary folder. In Outback's own build that folder is the repository, so that every clone
# finds what another has compiled; the names of sources in debug information are relative there, and the folder of the
# build, which ccache would compare for it, is the compiler's business. Whoever has set a base keeps it.
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
