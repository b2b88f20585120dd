# How the torch half is compiled, and whether it is compiled here at all.
#
# Included by ../CMakeLists.txt; backend_template/CMakeLists.txt decides by it.
#
#   OUTBACK_TORCH_HALF_FLAGS   cache entry: its flags, behind those of the build type; -O2. A project's own flags are for its
#                              own sources; a Debug build of this project is one of the torch half too, where it is compiled
#                              here, and has none of these
#   OUTBACK_CACHE              cache entry. ON: it is taken from the user's cache, which is that of `outback build`, and
#                              compiled there where it is missing, once for each torch, Python, compiler, C library and
#                              flags. OFF: it is compiled in this project. In Outback's own build it is OFF
#
# With flags that change what a program is (sanitizers, link time optimization, a processor, a debug mode of the standard
# library) all of it has to be compiled with them, so that it is compiled in the project too.
include_guard(GLOBAL)

set(_outback_default_flags "-O2") # what torch_outback compiles with where it is told nothing
set(OUTBACK_TORCH_HALF_FLAGS "${_outback_default_flags}" CACHE STRING "Flags of the torch half, behind those of the build type")
set(_outback_cache ON)
if(PROJECT_IS_TOP_LEVEL)
  set(_outback_cache OFF)
endif()
option(OUTBACK_CACHE "Take the torch half from the user's cache, where it is compiled once" ${_outback_cache})
mark_as_advanced(OUTBACK_TORCH_HALF_FLAGS OUTBACK_CACHE)

# The folder of the package torch_outback: in the tree, or around the sources that its wheel brings.
set(_outback_command_folder "${PROJECT_SOURCE_DIR}/generators/cli")
if(NOT EXISTS "${_outback_command_folder}/torch_outback")
  cmake_path(SET _outback_command_folder NORMALIZE "${PROJECT_SOURCE_DIR}/../../..")
endif()

# outback_torch_half_flags(<target>)
#
# Gives a library of the torch half its flags. GCC takes a fifth longer for -O3 than for -O2, and `./dev bench` finds no
# difference.
#
#   <target>   of the calling folder
#
# Example: outback_torch_half_flags(outback_torch)
function(outback_torch_half_flags target)
  separate_arguments(flags NATIVE_COMMAND "${OUTBACK_TORCH_HALF_FLAGS}")
  target_compile_options(${target} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:${flags}>")
endfunction()

# outback_why_no_cache(<variable>)
#
# Why the torch half is compiled in this project, for a sentence that ends with "because ..."; empty where it is not.
#
#   <variable>   of the caller, is set to that
#
# Example: outback_why_no_cache(why)
function(outback_why_no_cache out)
  _outback_special_flag(flag)
  get_property(torch GLOBAL PROPERTY OUTBACK_TORCH_FOLDER)
  set(why "")
  if(NOT OUTBACK_CACHE)
    set(why "OUTBACK_CACHE is OFF")
  elseif(OUTBACK_TORCH_ROOT)
    set(why "the cache is for the torch of a Python")
  elseif(NOT Python_Development.Module_FOUND OR NOT EXISTS "${torch}/lib/libtorch_python.so")
    set(why "the cache has the Python half too, which wants Python's headers and libtorch_python")
  elseif(CMAKE_CROSSCOMPILING OR CMAKE_TOOLCHAIN_FILE)
    set(why "of its toolchain file")
  elseif(flag)
    set(why "of ${flag}")
  elseif(NOT EXISTS "${_outback_command_folder}/torch_outback/torch_half.py")
    set(why "the package torch_outback is not beside its sources")
  endif()
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

# _outback_special_flag(<variable>)
#
# The first of the project's flags that may have to be the same everywhere in a program; empty where there is none. Those that
# need not are listed: optimization, warnings, debug information, folders, and definitions, but for those that other people's
# headers read.
function(_outback_special_flag out)
  # What CMake makes flags of, in no variable of flags.
  foreach(variable IN ITEMS CMAKE_INTERPROCEDURAL_OPTIMIZATION CMAKE_SYSROOT CMAKE_SYSROOT_COMPILE CMAKE_CXX_COMPILER_TARGET
                            CMAKE_CXX_COMPILER_EXTERNAL_TOOLCHAIN)
    if(${variable})
      set(${out} "${variable}" PARENT_SCOPE)
      return()
    endif()
  endforeach()

  set(all "${CMAKE_CXX_FLAGS}")
  get_property(several GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  set(configurations "${CMAKE_BUILD_TYPE}")
  if(several)
    set(configurations "${CMAKE_CONFIGURATION_TYPES}")
  endif()
  foreach(configuration IN LISTS configurations)
    string(TOUPPER "${configuration}" configuration)
    string(APPEND all " ${CMAKE_CXX_FLAGS_${configuration}}")
    if(CMAKE_INTERPROCEDURAL_OPTIMIZATION_${configuration})
      set(${out} "CMAKE_INTERPROCEDURAL_OPTIMIZATION_${configuration}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  separate_arguments(flags NATIVE_COMMAND "${all}")
  get_directory_property(options COMPILE_OPTIONS)
  get_directory_property(definitions COMPILE_DEFINITIONS)
  list(TRANSFORM definitions PREPEND "-D")

  set(harmless # beginnings of options, or whole ones
      "[OWDUI].*" "g.*" "std=.*" pipe pthread "isystem.*" "f(PIC|pic|PIE|pie)" "f(no-)?omit-frame-pointer" "fvisibility.*"
      "f(no-)?(diagnostics|color-diagnostics).*" "f(macro|file|debug)-prefix-map=.*")
  list(JOIN harmless "|" harmless)
  set(is_argument FALSE)
  foreach(flag IN LISTS flags options definitions)
    if(is_argument) # of the flag before
      set(is_argument FALSE)
    elseif(flag MATCHES "^-(I|isystem|iquote|idirafter|include|D|U)$")
      set(is_argument TRUE)
    elseif(flag MATCHES "^-[DU](_|C10_|AT_|TORCH_|CAFFE2_|USE_|FMT_|Py_|OUTBACK_)" OR NOT flag MATCHES "^-(${harmless})$")
      set(${out} "${flag}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out} "" PARENT_SCOPE)
endfunction()

# outback_torch_half_from_cache()
#
# The targets outback::layers, outback::torch, outback::kernels and, where Python is wanted, outback::python, as libraries that a
# step of the build puts into the build's folder, so that nothing of the cache is needed later. The step is torch_outback/torch_half.py; it runs
# again when a source of the torch half or torch itself has changed.
function(outback_torch_half_from_cache)
  set(into "${PROJECT_BINARY_DIR}/torch_half")
  set(names layers torch kernels)
  if(TARGET outback::libtorch_python)
    list(APPEND names python)
  endif()
  list(TRANSFORM names REPLACE "(.+)" "${into}/liboutback_\\1.a" OUTPUT_VARIABLE archives)
  set(sources "")
  foreach(folder IN ITEMS backend_template cmake generators/loader generators/methods registration)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.[ch]*"
         "${PROJECT_SOURCE_DIR}/${folder}/*.py" "${PROJECT_SOURCE_DIR}/${folder}/*.txt")
    list(APPEND sources ${found})
  endforeach()
  get_property(torch GLOBAL PROPERTY OUTBACK_TORCH_FOLDER)
  set(flags "${OUTBACK_TORCH_HALF_FLAGS}")
  if(flags STREQUAL _outback_default_flags)
    set(flags "") # the same entry of the cache as `outback build` makes
  endif()
  # The folder of torch_outback may have another torch beside it, which is not the project's.
  # A file for what make does not see: that the command is another one.
  set(compiler "\"${CMAKE_CXX_COMPILER}\"${CMAKE_CXX_COMPILER_ARG1}")
  file(CONFIGURE OUTPUT "${into}.txt" CONTENT "${compiler} ${flags}\n" @ONLY)
  add_custom_command(
    OUTPUT ${archives}
    COMMAND
      "${Python_EXECUTABLE}" -c
      "import sys; sys.path[:] = [sys.argv.pop(1), *filter(None, sys.path)]; from torch_outback import torch_half; del sys.path[0]; torch_half.main()"
      "${_outback_command_folder}" --into "${into}" --torch "${torch}" --compiler "${compiler}" "--flags=${flags}" --tools
      "${CMAKE_COMMAND}" "${CMAKE_MAKE_PROGRAM}"
    DEPENDS ${sources} "${torch}/version.py" "${into}.txt"
    COMMENT "The torch half, from the user's cache"
    USES_TERMINAL VERBATIM)
  add_custom_target(outback_torch_half DEPENDS ${archives})
  foreach(name IN LISTS names)
    add_library(outback_${name} STATIC IMPORTED GLOBAL)
    add_library(outback::${name} ALIAS outback_${name})
    set_target_properties(outback_${name} PROPERTIES IMPORTED_LOCATION "${into}/liboutback_${name}.a")
    # Ninja knows which step makes the file that is linked, and so compiles the project's sources beside that step. What
    # depends on a target waits for it before it compiles.
    if(NOT CMAKE_GENERATOR MATCHES "Ninja")
      add_dependencies(outback_${name} outback_torch_half)
    endif()
    target_include_directories(outback_${name} INTERFACE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(outback_${name} INTERFACE outback::runtime)
  endforeach()
  # As the libraries themselves say where they are compiled here.
  find_package(Threads REQUIRED)
  target_link_libraries(outback_layers INTERFACE Threads::Threads)
  target_link_libraries(outback_torch INTERFACE outback::libtorch outback::layers)
  target_link_libraries(outback_kernels INTERFACE outback::libtorch)
  target_compile_definitions(outback_kernels INTERFACE AT_PER_OPERATOR_HEADERS)
  if(TARGET outback_python)
    target_link_libraries(outback_python INTERFACE outback::torch outback::libtorch_python)
  endif()
endfunction()
