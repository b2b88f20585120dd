# Where CUDA's headers are. They are all that is needed: libcudart is opened at run time.
#
# Included by OutbackRuntimes.cmake.
#
#   OUTBACK_CUDA_INCLUDE_DIR       cache entry, the folder of cuda_runtime_api.h and cuda.h; looked for in CUDAToolkit_ROOT,
#                                  CUDA_HOME and CUDA_PATH, in /usr/local/cuda, and in the wheels nvidia-cuda-runtime with
#                                  nvidia-cuda-crt (CUDA 13), or nvidia-cuda-runtime-cu12 with nvidia-cuda-nvcc-cu12, of
#                                  OUTBACK_CUDA_PYTHON
#   OUTBACK_CUDA_CRT_INCLUDE_DIR   cache entry, the folder of crt/host_defines.h, which those include
#   OUTBACK_CUDA_PYTHON            cache entry, the Python that has these wheels; Python_EXECUTABLE, or else the one on the PATH
#   OUTBACK_CUDA_FOUND             TRUE where both folders are there
#   outback::cuda_headers          a target, then
include_guard(GLOBAL)

set(_outback_cuda_hints "${CUDAToolkit_ROOT}" "$ENV{CUDAToolkit_ROOT}" "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}"
                        /usr/local/cuda)
list(TRANSFORM _outback_cuda_hints APPEND "/include")

if(NOT OUTBACK_CUDA_INCLUDE_DIR)
  if(Python_EXECUTABLE AND NOT OUTBACK_CUDA_PYTHON)
    set(OUTBACK_CUDA_PYTHON "${Python_EXECUTABLE}")
  endif()
  find_program(OUTBACK_CUDA_PYTHON NAMES python3 python DOC "Asked for the wheels that bring CUDA's headers")
  mark_as_advanced(OUTBACK_CUDA_PYTHON)
  if(OUTBACK_CUDA_PYTHON)
    execute_process(
      COMMAND "${OUTBACK_CUDA_PYTHON}" -c
              "import sys; sys.path[:] = filter(None, sys.path); import sysconfig; print(sysconfig.get_path('purelib'))"
      OUTPUT_VARIABLE _outback_site_packages
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(_outback_site_packages)
      list(APPEND _outback_cuda_hints "${_outback_site_packages}/nvidia/cu13/include"
           "${_outback_site_packages}/nvidia/cuda_runtime/include")
    endif()
  endif()
endif()
find_path(
  OUTBACK_CUDA_INCLUDE_DIR cuda_runtime_api.h
  HINTS ${_outback_cuda_hints}
  DOC "The folder of cuda_runtime_api.h and cuda.h")

# In wheels of CUDA 12, the compiler's package has the headers that the runtime's include.
if(OUTBACK_CUDA_INCLUDE_DIR)
  find_path(
    OUTBACK_CUDA_CRT_INCLUDE_DIR crt/host_defines.h
    HINTS "${OUTBACK_CUDA_INCLUDE_DIR}" "${OUTBACK_CUDA_INCLUDE_DIR}/../../cuda_nvcc/include"
    NO_DEFAULT_PATH)
  mark_as_advanced(OUTBACK_CUDA_CRT_INCLUDE_DIR)
endif()

# NVTX's headers, where they are: for the ranges of NVIDIA's tools.
if(OUTBACK_CUDA_INCLUDE_DIR)
  find_path(
    OUTBACK_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h
    HINTS "${OUTBACK_CUDA_INCLUDE_DIR}" "${OUTBACK_CUDA_INCLUDE_DIR}/../../nvtx/include"
    NO_DEFAULT_PATH)
  mark_as_advanced(OUTBACK_NVTX_INCLUDE_DIR)
endif()

set(OUTBACK_CUDA_FOUND FALSE)
if(EXISTS "${OUTBACK_CUDA_INCLUDE_DIR}/cuda_runtime_api.h"
   AND EXISTS "${OUTBACK_CUDA_INCLUDE_DIR}/cuda.h"
   AND OUTBACK_CUDA_CRT_INCLUDE_DIR)
  set(OUTBACK_CUDA_FOUND TRUE)
  add_library(outback_cuda_headers INTERFACE)
  add_library(outback::cuda_headers ALIAS outback_cuda_headers)
  target_include_directories(outback_cuda_headers SYSTEM INTERFACE "${OUTBACK_CUDA_INCLUDE_DIR}"
                                                                   "${OUTBACK_CUDA_CRT_INCLUDE_DIR}")
endif()

# outback_need_cuda()
#
# Stops where there are no headers, and says how to get them.
function(outback_need_cuda)
  if(NOT OUTBACK_CUDA_FOUND)
    message(
      FATAL_ERROR
        "OUTBACK_RUNTIME_CUDA is ON, but CUDA's headers cuda_runtime_api.h and cuda.h (12.8 or newer) were not found. "
        "Nothing else of it is needed. Install the CUDA Toolkit or the wheel nvidia-cuda-runtime, or set "
        "OUTBACK_CUDA_INCLUDE_DIR, which is \"${OUTBACK_CUDA_INCLUDE_DIR}\" now, to the folder that has them.")
  endif()
endfunction()
