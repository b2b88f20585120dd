# find_package(Outback): brings outback_add_backend(), outback_add_runtime_suite(), and the torch half as a part of the calling
# project. From the source tree (Outback_ROOT=<repository>) and from an installed one alike: both have the same layout. Where
# the project has Outback already, by an earlier find_package or by add_subdirectory, it does nothing.
#
# Sets one variable of the calling folder that is not Outback's, and prints that it does: CMAKE_BUILD_TYPE becomes Release
# where nobody has chosen one. Without a build type a compiler optimizes nothing, and the runtime suite takes several times as
# long. It is not cached: a project that chooses one before this call, or for another folder, has its own.
if(COMMAND outback_add_backend)
  return()
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  message(STATUS "Outback: no build type was chosen, so it is Release")
  set(CMAKE_BUILD_TYPE Release)
endif()
get_filename_component(_outback_root "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
add_subdirectory("${_outback_root}" "${CMAKE_BINARY_DIR}/_outback" EXCLUDE_FROM_ALL)
unset(_outback_root)
