# A vendor's backend: outback_add_backend().
#
# Included by ../CMakeLists.txt. A backend may be declared in any folder of the project that has called find_package(Outback).
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/OutbackKernels.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/OutbackPackage.cmake")

# outback_add_backend(<name> SOURCES <file>...
#                     [RUNTIME custom|host|cuda|level_zero|opencl|null] [RUNTIME_SOURCES <file>...]
#                     [KERNELS <format>... KERNEL_SOURCES <file>...]
#                     [PACKAGE <package>] [TARGET <target>] [PYTHON_DIR <folder>] [OUTPUT_DIR <folder>])
#
# Adds the extension module <package>._C, which is a whole backend: SOURCES, the torch half, what native kernels are
# written with, and a runtime. The build leaves an importable package in OUTPUT_DIR (PYTHONPATH=build/python), autoload
# included, and `cmake --install` the parts of a wheel that are built, which is what scikit-build-core packs.
#
#   <name>                     of the device: acme. One that register_backend() will refuse is warned of
#   SOURCES <file>...          of the module; one of them has OUTBACK_MODULE(_C), or calls register_backend()
#   RUNTIME <runtime>          what <outback/linked_runtime.h> answers: custom is RUNTIME_SOURCES, the others are Outback's
#                              own. Default: custom where there are RUNTIME_SOURCES; else there is none, and SOURCES bring one
#   RUNTIME_SOURCES <file>...  C or C++ without torch, with one function in C linkage:
#                              const outback_runtime* <name>_runtime(void)
#                              They become the library <target>_runtime, for outback_add_runtime_suite, whatever RUNTIME is
#   KERNELS <format>...        host, spirv, ptx, opencl_c: the module gets the portable operators, whose kernels are compiled
#                              to these formats and packed into the module: see outback_add_portable_kernels(). So are
#                              KERNEL_SOURCES. Default: opencl_c for RUNTIME opencl, whose driver compiles text, else none
#   KERNEL_SOURCES <file>...   in the dialect, each a module of kernels: see outback_add_kernels()
#   PACKAGE <package>          the Python package. Default: torch_<name>
#   TARGET <target>            the module's target. Default: <package>
#   PYTHON_DIR <folder>        where the package's Python sources are. Default: the calling folder
#   OUTPUT_DIR <folder>        of the build. Default: ${CMAKE_BINARY_DIR}/python
#
# Example: outback_add_backend(acme RUNTIME_SOURCES src/runtime.cpp SOURCES src/module.cpp src/kernels.cpp)
function(outback_add_backend name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE;RUNTIME;TARGET;PYTHON_DIR;OUTPUT_DIR"
                        "SOURCES;RUNTIME_SOURCES;KERNELS;KERNEL_SOURCES")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "outback_add_backend(${name}): cannot read ${arg_UNPARSED_ARGUMENTS}"
                        "${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "outback_add_backend(${name}): SOURCES is empty; one of them calls register_backend().")
  endif()
  if(NOT TARGET outback::libtorch_python)
    message(FATAL_ERROR "outback_add_backend(${name}): this Outback has no Python half: the Python headers are missing "
                        "(python3-dev on Debian), or OUTBACK_BUILD_TORCH or OUTBACK_BUILD_PYTHON was OFF where "
                        "find_package(Outback) was called first.")
  endif()
  _outback_warn_of_name("${name}")
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
  target_link_libraries(${arg_TARGET} PRIVATE outback::python outback::kernels)
  if(arg_RUNTIME_SOURCES)
    add_library(${arg_TARGET}_runtime STATIC ${arg_RUNTIME_SOURCES})
    outback_target_defaults(${arg_TARGET}_runtime)
    find_package(Threads REQUIRED)
    target_link_libraries(${arg_TARGET}_runtime PUBLIC outback::runtime Threads::Threads)
  endif()
  if(NOT arg_KERNELS AND arg_RUNTIME STREQUAL "opencl")
    set(arg_KERNELS opencl_c)
  endif()
  if(arg_KERNEL_SOURCES)
    outback_add_kernels(${arg_TARGET} SOURCES ${arg_KERNEL_SOURCES} FORMATS ${arg_KERNELS})
  endif()
  if(arg_KERNELS)
    outback_add_portable_kernels(${arg_TARGET} FORMATS ${arg_KERNELS})
  endif()
  _outback_link_runtime(${name} ${arg_TARGET} "${arg_RUNTIME}")
  set_target_properties(
    ${arg_TARGET}
    PROPERTIES PREFIX ""
               OUTPUT_NAME _C
               SUFFIX "${suffix}"
               # As an expression, to which a generator for several configurations adds no folder: the package is the
               # one that was built last.
               LIBRARY_OUTPUT_DIRECTORY "$<1:${arg_OUTPUT_DIR}/${arg_PACKAGE}>"
               # A neighbour in site-packages: the wheel fits any environment that has torch.
               INSTALL_RPATH "$ORIGIN/../torch/lib")

  _outback_stage_package(${arg_PACKAGE} "${arg_PYTHON_DIR}" "${arg_OUTPUT_DIR}" "${arg_RUNTIME}")
  install(TARGETS ${arg_TARGET} LIBRARY DESTINATION "${arg_PACKAGE}" COMPONENT ${arg_PACKAGE})
  install(FILES "${arg_OUTPUT_DIR}/${arg_PACKAGE}/_build.py" DESTINATION "${arg_PACKAGE}" COMPONENT ${arg_PACKAGE})
endfunction()

# _outback_link_runtime(<name> <target> <runtime>)
#
# Gives <target> what <outback/linked_runtime.h> reads: the name of a function, and the library that has it. <runtime> is
# RUNTIME of outback_add_backend, and may be empty.
function(_outback_link_runtime name target runtime)
  get_property(of_outback GLOBAL PROPERTY OUTBACK_RUNTIMES)
  if(NOT runtime)
    if(NOT TARGET ${target}_runtime)
      return()
    endif()
    set(runtime custom)
  endif()
  if(runtime STREQUAL custom)
    if(NOT TARGET ${target}_runtime)
      message(FATAL_ERROR "outback_add_backend(${name}): RUNTIME custom needs RUNTIME_SOURCES: the files with "
                          "`const outback_runtime* ${name}_runtime(void)`.")
    endif()
    set(library ${target}_runtime)
    set(table_function ${name}_runtime)
  elseif(runtime IN_LIST of_outback)
    set(library outback::runtime_${runtime})
    set(table_function outback_${runtime}_runtime)
  else()
    message(
      FATAL_ERROR
        "outback_add_backend(${name}): this Outback has no runtime \"${runtime}\". There are custom, which is "
        "RUNTIME_SOURCES; host and null; cuda, where CUDA's headers are (OUTBACK_CUDA_INCLUDE_DIR); level_zero, "
        "where Level Zero's are (OUTBACK_LEVEL_ZERO_INCLUDE_DIR); and opencl, where OpenCL's are "
        "(OUTBACK_OPENCL_INCLUDE_DIR).")
  endif()
  target_link_libraries(${target} PRIVATE ${library})
  target_compile_definitions(${target} PRIVATE OUTBACK_LINKED_RUNTIME=${table_function})
endfunction()

# _outback_warn_of_name(<name>)
#
# That register_backend() refuses the name is better known before minutes of compiling than after them. It is no error,
# since the sources may register another one.
function(_outback_warn_of_name name)
  set(list "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../registration/taken_names.txt")
  string(LENGTH "${name}" length)
  set(taken "")
  if(name MATCHES "^[a-z]([a-z_]*[a-z])?$" AND NOT name MATCHES "^(mps|outback_|outback$)" AND length LESS_EQUAL 32)
    file(STRINGS "${list}" taken REGEX "^ (.* )?${name}( |$)")
    if(NOT taken)
      return()
    endif()
  endif()
  message(WARNING "outback_add_backend(${name}): no device can be called ${name}, register_backend() refuses it. "
                  "`outback new ${name}` says why, and what would do.")
endfunction()
