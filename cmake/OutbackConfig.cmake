# find_package(Outback): brings outback_add_backend(), and the torch half as a part of the calling project.
#
# Where nobody has chosen a build type it is Release: without one a compiler optimizes nothing, and the runtime suite
# takes several times as long.
#
# Works from the source tree (Outback_ROOT=<repository>) and from an installed one alike: both have the same layout.
get_filename_component(_outback_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  message(STATUS "Outback: no build type was chosen, so it is Release")
  set(CMAKE_BUILD_TYPE Release)
endif()
if(NOT TARGET outback_runtime)
  add_subdirectory("${_outback_root}" "${CMAKE_BINARY_DIR}/_outback" EXCLUDE_FROM_ALL)
endif()
unset(_outback_root)
