# Installs Outback as what it is: sources and CMake files, in one folder laid out like the repository, so that
# OutbackConfig.cmake is the same file at both places. The torch half is compiled where it is used, against the torch
# that is there; a compiled one would be good for a single torch minor.
#
# Included by ../CMakeLists.txt, at its end. In somebody else's project there are no install rules.
#
#   OUTBACK_INSTALL_DIR   cache entry, the folder below the prefix; the wheel's is the package torch_outback
#   SKBUILD               set by scikit-build-core, which makes the wheel
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(OUTBACK_INSTALL_DIR "share/outback" CACHE STRING "Where the tree goes, below the prefix")
mark_as_advanced(OUTBACK_INSTALL_DIR)

# The scaffold keeps its dot files; what Python and editors leave behind stays here.
foreach(folder backend_template cmake registration generators/loader generators/methods generators/project)
  get_filename_component(parent "${OUTBACK_INSTALL_DIR}/${folder}" DIRECTORY)
  install(
    DIRECTORY "${folder}"
    DESTINATION "${parent}"
    PATTERN "__pycache__" EXCLUDE
    PATTERN ".pytest_cache" EXCLUDE
    PATTERN "build" EXCLUDE)
endforeach()
# The runtime suite, for vendors; the other tests are ours. A folder, so that no list names its files twice.
install(DIRECTORY tests/runtime/suite DESTINATION "${OUTBACK_INSTALL_DIR}/tests/runtime")
install(FILES tests/runtime/OutbackRuntimeSuite.cmake DESTINATION "${OUTBACK_INSTALL_DIR}/tests/runtime")
if(SKBUILD) # in the wheel it is the package torch_outback.conformance
  install(DIRECTORY conformance/ DESTINATION conformance PATTERN "__pycache__" EXCLUDE)
endif()
install(FILES docs/variables.md DESTINATION "${OUTBACK_INSTALL_DIR}/docs") # `outback doctor` reads its table
install(FILES CMakeLists.txt LICENSE DESTINATION "${OUTBACK_INSTALL_DIR}")
