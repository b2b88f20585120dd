# OpenCL's headers, which are all that its runtime needs to be built: Debian's opencl-c-headers has them, as does
# https://github.com/KhronosGroup/OpenCL-Headers.
#
# Included by OutbackRuntimes.cmake.
#
#   OUTBACK_OPENCL_INCLUDE_DIR   cache entry, the folder of CL/
#   OUTBACK_OPENCL_FOUND         ON where the headers are there, else OFF
include_guard(GLOBAL)

find_path(OUTBACK_OPENCL_INCLUDE_DIR CL/cl_ext.h DOC "Where CL/cl.h and CL/cl_ext.h are")
mark_as_advanced(OUTBACK_OPENCL_INCLUDE_DIR)

# Headers that are older than cl_intel_unified_shared_memory do not do.
set(OUTBACK_OPENCL_FOUND OFF)
if(OUTBACK_OPENCL_INCLUDE_DIR AND EXISTS "${OUTBACK_OPENCL_INCLUDE_DIR}/CL/cl.h")
  file(STRINGS "${OUTBACK_OPENCL_INCLUDE_DIR}/CL/cl_ext.h" _outback_usm REGEX "clHostMemAllocINTEL" LIMIT_COUNT 1)
  if(_outback_usm)
    set(OUTBACK_OPENCL_FOUND ON)
  endif()
endif()

# outback_need_opencl()
#
# Stops where there are no headers, and says how to get them.
function(outback_need_opencl)
  if(NOT OUTBACK_OPENCL_FOUND)
    message(
      FATAL_ERROR
        "OUTBACK_RUNTIME_OPENCL is ON, but CL/cl.h and CL/cl_ext.h (with clHostMemAllocINTEL) were not found. Install them "
        "(Debian: apt-get install opencl-c-headers), or set OUTBACK_OPENCL_INCLUDE_DIR to the folder that has CL/.")
  endif()
endfunction()
