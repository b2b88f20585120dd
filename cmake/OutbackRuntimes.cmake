# Which of Outback's own runtimes are built, and how one is. Their folders are in backend_template/runtimes/.
#
# Included by ../CMakeLists.txt, before all folders, so that each of them may ask.
#
#   OUTBACK_RUNTIME_HOST         cache entries, ON or OFF. CUDA, Level Zero and OpenCL are ON where their headers are: a build
#   OUTBACK_RUNTIME_NULL         needs no more of them
#   OUTBACK_RUNTIME_CUDA
#   OUTBACK_RUNTIME_LEVEL_ZERO
#   OUTBACK_RUNTIME_OPENCL
#   OUTBACK_RUNTIMES             global property, a list of those that are ON: host;null;cuda. For outback_add_backend, which
#                                may be called from any folder
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/OutbackCuda.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/OutbackLevelZero.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/OutbackOpenCL.cmake")

option(OUTBACK_RUNTIME_HOST "The embedded default: devices in host memory, with streams, events and limits" ON)
option(OUTBACK_RUNTIME_NULL "The smallest runtime there can be: the required slots, no groups" ON)
option(OUTBACK_RUNTIME_CUDA "NVIDIA's devices, through libcudart as it is found at run time" ${OUTBACK_CUDA_FOUND})
option(OUTBACK_RUNTIME_LEVEL_ZERO "Intel's devices, through the Level Zero loader as it is found at run time"
       ${OUTBACK_LEVEL_ZERO_FOUND})
option(OUTBACK_RUNTIME_OPENCL "Devices with an OpenCL driver, through the loader as it is found at run time"
       ${OUTBACK_OPENCL_FOUND})

if(OUTBACK_RUNTIME_CUDA)
  outback_need_cuda()
elseif(OUTBACK_BUILD_TESTS AND NOT OUTBACK_CUDA_FOUND)
  message(STATUS "Outback: no CUDA headers, so no CUDA runtime (OUTBACK_CUDA_INCLUDE_DIR says where they are)")
endif()
if(OUTBACK_RUNTIME_LEVEL_ZERO)
  outback_need_level_zero()
elseif(OUTBACK_BUILD_TESTS AND NOT OUTBACK_LEVEL_ZERO_FOUND)
  message(STATUS "Outback: no Level Zero headers, so no Level Zero runtime (libze-dev on Debian)")
endif()
if(OUTBACK_RUNTIME_OPENCL)
  outback_need_opencl()
elseif(OUTBACK_BUILD_TESTS AND NOT OUTBACK_OPENCL_FOUND)
  message(STATUS "Outback: no OpenCL headers, so no OpenCL runtime (opencl-c-headers on Debian)")
endif()

set(_outback_runtimes "")
foreach(_outback_runtime IN ITEMS host null cuda level_zero opencl)
  string(TOUPPER "OUTBACK_RUNTIME_${_outback_runtime}" _outback_option)
  if(${_outback_option})
    list(APPEND _outback_runtimes ${_outback_runtime})
  endif()
endforeach()
set_property(GLOBAL PROPERTY OUTBACK_RUNTIMES "${_outback_runtimes}")

# outback_add_runtime(<name> SOURCES <file>...)
#
# The static library outback::runtime_<name>, which sees no torch: one of Outback's own. A vendor's runtime is a library of
# the vendor's, or RUNTIME_SOURCES of outback_add_backend.
#
#   <name>             as in OUTBACK_RUNTIMES
#   SOURCES <file>...  C or C++; one of them has const outback_runtime* outback_<name>_runtime(void), in C linkage
#
# Example: outback_add_runtime(null SOURCES null_runtime.cpp)
function(outback_add_runtime name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  find_package(Threads REQUIRED)
  add_library(outback_runtime_${name} STATIC ${arg_SOURCES})
  add_library(outback::runtime_${name} ALIAS outback_runtime_${name})
  target_include_directories(outback_runtime_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(outback_runtime_${name} PUBLIC outback::runtime Threads::Threads)
  target_link_libraries(outback_runtime_${name} PRIVATE outback_runtimes_shared)
  outback_target_defaults(outback_runtime_${name})
  outback_unity(outback_runtime_${name})
endfunction()
