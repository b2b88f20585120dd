# Whether this Outback is what find_package(Outback <version>) asks for; find_package includes this file, and reads
# PACKAGE_VERSION, PACKAGE_VERSION_COMPATIBLE and PACKAGE_VERSION_EXACT, in a scope of its own.
#
# The version is stated once, in the project() call. Below 1.0 a minor release may change anything: 0.1 takes 0.1.*.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../CMakeLists.txt" _outback_line REGEX "^project\\(Outback VERSION")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" PACKAGE_VERSION "${_outback_line}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _outback_minor "${PACKAGE_VERSION}")
set(_outback_wanted "${PACKAGE_FIND_VERSION_MAJOR}.${PACKAGE_FIND_VERSION_MINOR}")
if(PACKAGE_FIND_VERSION_COUNT EQUAL 1)
  set(_outback_minor "${PACKAGE_VERSION_MAJOR}")
endif()
if(PACKAGE_FIND_VERSION_COUNT LESS 2 OR _outback_minor STREQUAL _outback_wanted)
  if(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
endif()
if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
