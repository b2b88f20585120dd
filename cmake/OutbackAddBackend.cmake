# A vendor's backend: outback_add_backend().
#
# Included by ../CMakeLists.txt. A backend may be declared in any folder of the project that has called find_package(Outback).
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/OutbackKernels.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/OutbackPackage.cmake")

# outback_add_backend(<name> [RUNTIME custom|host|cuda|level_zero|opencl|null] [RUNTIME_SOURCES <file>...]
#                     [SOURCES <file>...] [KERNELS <format>... [KERNEL_SOURCES <file>...]]
#                     [PACKAGE <package>] [TARGET <target>] [PYTHON_DIR <folder>] [OUTPUT_DIR <folder>])
#
# Adds the compiled parts of the package of a backend, which are three libraries:
#
#   lib<package>_runtime.so      the runtime, and the packed kernels. It includes no torch, so that one serves all of them
#   _half/torch-2.13/_C.<..>.so  the torch half, of one torch and one Python. Nothing of the project is in it
#   _half/torch-2.13/kernels.so  SOURCES, of one torch; it is missing where there are none
#
# <package>/__init__.py calls load() of <package>/_loading.py, which chooses a half by the torch that is installed. The build
# leaves an importable package in OUTPUT_DIR (PYTHONPATH=build/python), autoload included, and `cmake --install` the parts
# of a wheel that are built, which is what scikit-build-core packs. Where OUTBACK_RUNTIME_ONLY is set, which needs no torch,
# that is the first library alone.
#
#   <name>                     of the device: acme. One that register_backend() will refuse is warned of
#   RUNTIME <runtime>          custom is RUNTIME_SOURCES, the others are Outback's own. Default: custom
#   RUNTIME_SOURCES <file>...  C or C++ without torch, with one function in C linkage:
#                              const outback_runtime* <name>_runtime(void)
#                              They become the library <target>_runtime, for outback_add_runtime_suite, whatever RUNTIME is.
#                              What they define is visible to SOURCES. Define a variable that both use in one of them: where a
#                              header of both defines it, GCC makes one of it, and Clang two
#   SOURCES <file>...          native kernels, which include torch. They become the library <target>_kernels
#   KERNELS <format>...        host, spirv, ptx, opencl_c: the backend gets the portable operators, whose kernels are compiled
#                              to these formats and packed: see outback_add_portable_kernels(). So are KERNEL_SOURCES.
#                              Default: opencl_c for RUNTIME opencl, whose driver compiles text, else none
#   KERNEL_SOURCES <file>...   in the dialect, each a module of kernels: see outback_add_kernels()
#   PACKAGE <package>          the Python package. Default: torch_<name>
#   TARGET <target>            builds all of it; libraries and definitions of your own go to <target>_runtime and
#                              <target>_kernels. Default: <package>
#   PYTHON_DIR <folder>        where the package's Python sources are. Default: the calling folder
#   OUTPUT_DIR <folder>        of the build. Default: ${CMAKE_BINARY_DIR}/python
#
# Example: outback_add_backend(acme RUNTIME_SOURCES src/runtime.cpp SOURCES src/kernels.cpp)
function(outback_add_backend name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE;RUNTIME;TARGET;PYTHON_DIR;OUTPUT_DIR"
                        "SOURCES;RUNTIME_SOURCES;KERNELS;KERNEL_SOURCES")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "outback_add_backend(${name}): cannot read ${arg_UNPARSED_ARGUMENTS}"
                        "${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT CMAKE_CXX_COMPILER_LOADED)
    message(FATAL_ERROR "outback_add_backend(${name}): the project needs C++, also with a runtime in C: "
                        "project(... LANGUAGES C CXX)")
  endif()
  if(NOT TARGET outback::libtorch_python AND NOT OUTBACK_RUNTIME_ONLY)
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

  if(NOT arg_KERNELS AND arg_RUNTIME STREQUAL "opencl")
    set(arg_KERNELS opencl_c)
  endif()
  if(arg_KERNEL_SOURCES AND NOT arg_KERNELS)
    message(FATAL_ERROR "outback_add_backend(${name}): KERNEL_SOURCES need KERNELS, the formats that they are compiled to")
  endif()
  get_property(suffix GLOBAL PROPERTY OUTBACK_PYTHON_SUFFIX)
  get_property(torch GLOBAL PROPERTY OUTBACK_TORCH_MINOR)
  set(loader "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../generators/loader")
  set(half "${arg_PACKAGE}/_half/torch-${torch}")

  _outback_add_runtime_library(${name} ${arg_TARGET} "${arg_RUNTIME}" "${arg_RUNTIME_SOURCES}")
  _outback_place(${arg_TARGET}_library "${arg_OUTPUT_DIR}" ${arg_PACKAGE} ${arg_PACKAGE})
  set_target_properties(${arg_TARGET}_library PROPERTIES OUTPUT_NAME ${arg_PACKAGE}_runtime)

  # No library: what a project gave it would reach none of the project's sources.
  add_custom_target(${arg_TARGET} ALL DEPENDS ${arg_TARGET}_library)
  set(operators "")
  if(NOT OUTBACK_RUNTIME_ONLY)
    add_library(${arg_TARGET}_half MODULE "${loader}/module.cpp")
    outback_target_defaults(${arg_TARGET}_half)
    target_link_libraries(${arg_TARGET}_half PRIVATE outback::python outback::kernels)
    _outback_place(${arg_TARGET}_half "${arg_OUTPUT_DIR}" ${half} ${arg_PACKAGE})
    set_target_properties(${arg_TARGET}_half PROPERTIES PREFIX "" OUTPUT_NAME _C SUFFIX "${suffix}")
    add_dependencies(${arg_TARGET} ${arg_TARGET}_half)
    set(operators OPERATORS ${arg_TARGET}_half)
  endif()

  if(arg_KERNELS)
    target_sources(${arg_TARGET}_library PRIVATE "${loader}/packed_modules.cpp")
    target_compile_definitions(${arg_TARGET}_library PRIVATE OUTBACK_PACKED_KERNELS=${name}_packed_kernels)
    target_include_directories(${arg_TARGET}_library PRIVATE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..")
    if(arg_KERNEL_SOURCES)
      outback_add_kernels(${arg_TARGET}_library SOURCES ${arg_KERNEL_SOURCES} FORMATS ${arg_KERNELS})
    endif()
    outback_add_portable_kernels(${arg_TARGET}_library FORMATS ${arg_KERNELS} ${operators})
  endif()

  _outback_refuse_registrations(${name} "${arg_SOURCES}")
  if(arg_SOURCES AND OUTBACK_RUNTIME_ONLY)
    # Never built: the project may give it libraries and folders, as it does where there is a torch.
    add_library(${arg_TARGET}_kernels MODULE EXCLUDE_FROM_ALL ${arg_SOURCES})
  elseif(arg_SOURCES)
    add_library(${arg_TARGET}_kernels MODULE ${arg_SOURCES})
    outback_target_defaults(${arg_TARGET}_kernels)
    _outback_without_paths(${arg_TARGET}_kernels)
    _outback_show_all(${arg_TARGET}_kernels)
    _outback_call_own(${arg_TARGET}_kernels)
    target_link_libraries(${arg_TARGET}_kernels PRIVATE ${arg_TARGET}_library outback::kernels)
    _outback_place(${arg_TARGET}_kernels "${arg_OUTPUT_DIR}" ${half} ${arg_PACKAGE})
    set_target_properties(${arg_TARGET}_kernels PROPERTIES PREFIX "" OUTPUT_NAME kernels SUFFIX ".so")
    add_dependencies(${arg_TARGET} ${arg_TARGET}_kernels)
  endif()

  _outback_stage_package(${arg_PACKAGE} "${arg_PYTHON_DIR}" "${arg_OUTPUT_DIR}" "${arg_RUNTIME}")
endfunction()

# _outback_refuse_registrations(<name> <sources>)
#
# The package registers the backend itself. A source that does it too is one for torch.utils.cpp_extension, or of a project
# that an Outback of before 0.1.0 made.
function(_outback_refuse_registrations name sources)
  foreach(source IN LISTS sources)
    get_filename_component(source "${source}" ABSOLUTE)
    if(EXISTS "${source}") # else CMake says it
      file(STRINGS "${source}" line REGEX "^#include .outback/(module|linked_runtime)\\.h." LIMIT_COUNT 1)
      if(line)
        message(FATAL_ERROR "outback_add_backend(${name}): ${source} registers a backend (${line}), and the package does that: "
                            "leave it out, and give its options to load() in the package's __init__.py. `outback update` "
                            "brings an older project up to date.")
      endif()
    endif()
  endforeach()
endfunction()

# _outback_place(<target> <output> <folder> <component>)
#
# Where a library of a package is: in <folder> of the package's place in the build, and of site-packages.
function(_outback_place target output folder component)
  string(REGEX REPLACE "[^/]+" ".." up "${folder}")
  set_target_properties(
    ${target}
    PROPERTIES # As an expression, to which a generator for several configurations adds no folder: the package is the one
               # that was built last.
               LIBRARY_OUTPUT_DIRECTORY "$<1:${output}/${folder}>"
               # Neighbours in site-packages: the wheel fits any environment that has torch.
               INSTALL_RPATH "$ORIGIN/${up}/torch/lib;$ORIGIN/${up}/${component}")
  install(TARGETS ${target} LIBRARY DESTINATION "${folder}" COMPONENT ${component})
endfunction()

# _outback_without_paths(<target>)
#
# No message of the project's sources names the folder that they are compiled in: two builds of a wheel have the same bytes.
function(_outback_without_paths target)
  foreach(folder IN ITEMS "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")
    target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${folder}/=")
  endforeach()
endfunction()

# _outback_show_all(<target>)
#
# Exports what the project's sources define. The runtime and the kernels are libraries of their own, and yet one program: the
# kernels call the runtime's functions and, by GCC's unique symbols, a variable in a header of both is one.
function(_outback_show_all target)
  set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET default CXX_VISIBILITY_PRESET default
                                             VISIBILITY_INLINES_HIDDEN OFF)
endfunction()

# _outback_call_own(<target>)
#
# What the project's sources call is their own function, also where the C library has one of that name: connect, send.
function(_outback_call_own target)
  target_link_options(${target} PRIVATE "LINKER:-Bsymbolic-functions")
endfunction()

# _outback_add_runtime_library(<name> <target> <runtime> <sources>)
#
# Makes <target>_library, a shared library with the function <name>_runtime(void), and <target>_runtime of <sources>.
# <runtime> and <sources> are arguments of outback_add_backend, and may be empty.
function(_outback_add_runtime_library name target runtime sources)
  if(sources)
    add_library(${target}_runtime STATIC ${sources})
    outback_target_defaults(${target}_runtime)
    _outback_without_paths(${target}_runtime)
    _outback_show_all(${target}_runtime)
    find_package(Threads REQUIRED)
    target_link_libraries(${target}_runtime PUBLIC outback::runtime Threads::Threads)
  endif()
  get_property(of_outback GLOBAL PROPERTY OUTBACK_RUNTIMES)
  if(NOT runtime OR runtime STREQUAL custom)
    if(NOT sources)
      message(FATAL_ERROR "outback_add_backend(${name}): RUNTIME custom needs RUNTIME_SOURCES: the files with "
                          "`const outback_runtime* ${name}_runtime(void)`.")
    endif()
    add_library(${target}_library SHARED "$<TARGET_OBJECTS:${target}_runtime>")
    set_target_properties(${target}_library PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${target}_library PRIVATE ${target}_runtime)
  elseif(runtime IN_LIST of_outback)
    add_library(${target}_library SHARED "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../generators/loader/runtime_library.cpp")
    target_compile_definitions(${target}_library PRIVATE OUTBACK_RUNTIME_OF_BACKEND=${name}_runtime
                                                         OUTBACK_LINKED_RUNTIME=outback_${runtime}_runtime)
    target_link_libraries(${target}_library PRIVATE outback::runtime_${runtime})
  else()
    message(
      FATAL_ERROR
        "outback_add_backend(${name}): this Outback has no runtime \"${runtime}\". There are custom, which is "
        "RUNTIME_SOURCES; host and null; cuda, where CUDA's headers are (OUTBACK_CUDA_INCLUDE_DIR); level_zero, "
        "where Level Zero's are (OUTBACK_LEVEL_ZERO_INCLUDE_DIR); and opencl, where OpenCL's are "
        "(OUTBACK_OPENCL_INCLUDE_DIR).")
  endif()
  outback_target_defaults(${target}_library)
  _outback_call_own(${target}_library)
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
