# outback_add_backend(<name>
#                     [PACKAGE <package>]     torch_<name>
#                     [RUNTIME host|cuda|level_zero|null]
#                                             link a runtime of Outback's, which <outback/linked_runtime.h> then
#                                             answers; none: the sources bring one
#                     [TARGET <target>]       <package>
#                     [PYTHON_DIR <folder>]   where the package's Python sources are; the calling folder
#                     [OUTPUT_DIR <folder>]   ${CMAKE_BINARY_DIR}/python
#                     SOURCES <file>...)
#
# Adds the extension module <package>._C, which is a whole backend: SOURCES, the torch half and a runtime. The build
# leaves an importable package in OUTPUT_DIR (PYTHONPATH=build/python), autoload included, and `cmake --install` the
# parts of a wheel that are built, which is what scikit-build-core packs.
include_guard(GLOBAL)
include(OutbackPackage)

function(outback_add_backend name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE;RUNTIME;TARGET;PYTHON_DIR;OUTPUT_DIR" "SOURCES")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "outback_add_backend(${name}): cannot read ${arg_UNPARSED_ARGUMENTS}"
                        "${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "outback_add_backend(${name}): SOURCES is empty; one of them calls register_backend().")
  endif()
  if(NOT TARGET outback::python)
    message(FATAL_ERROR "outback_add_backend(${name}): the Python headers are missing (python3-dev on Debian).")
  endif()
  if(arg_RUNTIME AND NOT TARGET outback::runtime_${arg_RUNTIME})
    message(
      FATAL_ERROR
        "outback_add_backend(${name}): this Outback has no runtime \"${arg_RUNTIME}\". There are host and null; cuda, "
        "where CUDA's headers are (OUTBACK_CUDA_INCLUDE_DIR); and level_zero, where Level Zero's are "
        "(OUTBACK_LEVEL_ZERO_INCLUDE_DIR).")
  endif()
  if(NOT arg_PACKAGE)
    set(arg_PACKAGE torch_${name})
  endif()
  if(NOT arg_TARGET)
    set(arg_TARGET ${arg_PACKAGE})
  endif()
  if(NOT arg_PYTHON_DIR)
    set(arg_PYTHON_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  if(NOT arg_OUTPUT_DIR)
    set(arg_OUTPUT_DIR "${CMAKE_BINARY_DIR}/python")
  endif()

  get_property(suffix GLOBAL PROPERTY OUTBACK_PYTHON_SUFFIX)
  add_library(${arg_TARGET} MODULE ${arg_SOURCES})
  outback_target_defaults(${arg_TARGET})
  target_link_libraries(${arg_TARGET} PRIVATE outback::python)
  if(arg_RUNTIME)
    target_link_libraries(${arg_TARGET} PRIVATE outback::runtime_${arg_RUNTIME})
    target_compile_definitions(${arg_TARGET} PRIVATE OUTBACK_LINKED_RUNTIME=outback_${arg_RUNTIME}_runtime)
  endif()
  set_target_properties(
    ${arg_TARGET}
    PROPERTIES PREFIX ""
               OUTPUT_NAME _C
               SUFFIX "${suffix}"
               LIBRARY_OUTPUT_DIRECTORY "${arg_OUTPUT_DIR}/${arg_PACKAGE}"
               # A neighbour in site-packages: the wheel fits any environment that has torch.
               INSTALL_RPATH "$ORIGIN/../torch/lib")

  _outback_stage_package(${arg_PACKAGE} "${arg_PYTHON_DIR}" "${arg_OUTPUT_DIR}")
  install(TARGETS ${arg_TARGET} LIBRARY DESTINATION "${arg_PACKAGE}" COMPONENT ${arg_PACKAGE})
  install(FILES "${arg_OUTPUT_DIR}/${arg_PACKAGE}/_build.py" DESTINATION "${arg_PACKAGE}" COMPONENT ${arg_PACKAGE})
endfunction()
