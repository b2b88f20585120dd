# Level Zero's headers, which are all that its runtime needs to be built: Debian's libze-dev has them, as do oneAPI and
# https://github.com/oneapi-src/level-zero. Any version from 1.4 on.
#
# Included by OutbackRuntimes.cmake.
#
#   OUTBACK_LEVEL_ZERO_INCLUDE_DIR   cache entry, the folder of level_zero/; looked for in LEVEL_ZERO_ROOT/include, too
#   OUTBACK_LEVEL_ZERO_FOUND         ON where the headers are there, else OFF
include_guard(GLOBAL)

find_path(
  OUTBACK_LEVEL_ZERO_INCLUDE_DIR level_zero/zes_api.h
  HINTS "$ENV{LEVEL_ZERO_ROOT}/include"
  DOC "Where level_zero/ze_api.h and level_zero/zes_api.h are")
mark_as_advanced(OUTBACK_LEVEL_ZERO_INCLUDE_DIR)

if(OUTBACK_LEVEL_ZERO_INCLUDE_DIR AND EXISTS "${OUTBACK_LEVEL_ZERO_INCLUDE_DIR}/level_zero/ze_api.h")
  set(OUTBACK_LEVEL_ZERO_FOUND ON)
else()
  set(OUTBACK_LEVEL_ZERO_FOUND OFF)
endif()

# outback_need_level_zero()
#
# Stops where there are no headers, and says how to get them.
function(outback_need_level_zero)
  if(NOT OUTBACK_LEVEL_ZERO_FOUND)
    message(
      FATAL_ERROR
        "OUTBACK_RUNTIME_LEVEL_ZERO is ON, but level_zero/ze_api.h and level_zero/zes_api.h were not found. Install them "
        "(Debian: apt-get install libze-dev), or set OUTBACK_LEVEL_ZERO_INCLUDE_DIR to the folder that has level_zero/.")
  endif()
endfunction()
