# Finds torch without torch's own TorchConfig.cmake, which demands a CUDA toolkit wherever torch was built with CUDA. torch is
# never imported.
#
# Included by ../CMakeLists.txt, where OUTBACK_BUILD_TORCH is ON.
#
#   OUTBACK_TORCH_ROOT         cache entry, a folder: the libtorch or torch package to take, for which no Python is needed.
#                              Empty: that of the Python that find_package(Python) finds (Python_EXECUTABLE chooses it)
#   OUTBACK_TORCH_MINOR        global property: 2.13, what a build of the torch half is good for
#   OUTBACK_TORCH_FOLDER       global property: the folder that has include/ and lib/
#   OUTBACK_PYTHON_SUFFIX      global property: what Python calls an extension module: .cpython-311-x86_64-linux-gnu.so
#   OUTBACK_PYTHON             global property: the Python that was found, as a program; unset if none was
#   OUTBACK_TORCH_DISTRIBUTED  cache entry: TRUE where torch was built with torch.distributed; found out once
#   outback::libtorch          target: headers, libc10, libtorch_cpu, libtorch; fmt as torch ships it
#   outback::libtorch_python   target: libtorch_python and Python's headers. Where it is missing there is no Python half
#
# Global properties, since a backend is declared above the folder that includes this.
include_guard(GLOBAL)

set(OUTBACK_TORCH_ROOT "" CACHE PATH "A libtorch or an installed torch package; empty: the one of Python")

if(OUTBACK_BUILD_PYTHON)
  find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
elseif(NOT OUTBACK_TORCH_ROOT)
  find_package(
    Python 3.10
    COMPONENTS Interpreter
    OPTIONAL_COMPONENTS Development.Module) # for the cache of the torch half, which has the Python half too
endif()
if(Python_Interpreter_FOUND)
  set_property(GLOBAL PROPERTY OUTBACK_PYTHON "${Python_EXECUTABLE}")
endif()

# _outback_torch_root(<variable>): the folder that has include/ and lib/.
function(_outback_torch_root out)
  if(OUTBACK_TORCH_ROOT)
    file(TO_CMAKE_PATH "${OUTBACK_TORCH_ROOT}" root)
    set(${out} "${root}" PARENT_SCOPE)
    return()
  endif()
  if(NOT Python_Interpreter_FOUND)
    message(FATAL_ERROR "Outback needs torch: set Python_EXECUTABLE to a Python 3.10 or newer that has torch, "
                        "or OUTBACK_TORCH_ROOT to a libtorch.")
  endif()
  # find_spec of a top-level package finds it without running it: no library is loaded, no backend is autoloaded.
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c [[
import sys
sys.path[:] = [it for it in sys.path if it] # without the current folder, which may be anybody's
import importlib.util
spec = importlib.util.find_spec("torch")
print(next(iter(spec.submodule_search_locations), "") if spec and spec.submodule_search_locations else "", end="")
]]
    OUTPUT_VARIABLE root
    RESULT_VARIABLE failed)
  if(failed OR NOT root)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no torch: install it there, or set Python_EXECUTABLE to a Python "
                        "that has it, or OUTBACK_TORCH_ROOT to a libtorch.")
  endif()
  file(TO_CMAKE_PATH "${root}" root)
  set(${out} "${root}" PARENT_SCOPE)
endfunction()

# _outback_torch_version(<folder> <variable>): the version that the headers state, which is what we compile against, whatever
# the package is called. CMake runs again when they change.
function(_outback_torch_version root out)
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(NOT EXISTS "${root}/include/${header}")
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${root}/include/${header}")
    file(STRINGS "${root}/include/${header}" lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
    string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
    string(REPLACE ";" "." version "${numbers}")
    if(version MATCHES "^[0-9]+\\.[0-9]+\\.[0-9]+$")
      set(${out} "${version}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${root} is no libtorch and no torch package: no version in its headers.")
endfunction()

# _outback_torch_cxx11_abi(<folder> <variable>): 0 or 1, for _GLIBCXX_USE_CXX11_ABI. torch's wheels have used the C++11 ABI of
# libstdc++ since 2.6; a libtorch of one's own need not.
function(_outback_torch_cxx11_abi root out)
  set(${out} 1 PARENT_SCOPE)
  set(config "${root}/share/cmake/Torch/TorchConfig.cmake")
  if(EXISTS "${config}")
    file(STRINGS "${config}" line REGEX "_GLIBCXX_USE_CXX11_ABI=0" LIMIT_COUNT 1)
    if(line)
      set(${out} 0 PARENT_SCOPE)
    endif()
  endif()
endfunction()

# _outback_torch_library(<folder> <name>): the target outback::libtorch::<name>, which is lib<name>.so of torch.
function(_outback_torch_library root name)
  set(file "${root}/lib/${CMAKE_SHARED_LIBRARY_PREFIX}${name}${CMAKE_SHARED_LIBRARY_SUFFIX}")
  if(NOT EXISTS "${file}")
    message(FATAL_ERROR "torch is incomplete: there is no ${file}.")
  endif()
  add_library(outback::libtorch::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(outback::libtorch::${name} PROPERTIES IMPORTED_LOCATION "${file}")
endfunction()

# ---- The torch that is there.

_outback_torch_root(_outback_torch)
_outback_torch_version("${_outback_torch}" _outback_version)
_outback_torch_cxx11_abi("${_outback_torch}" _outback_cxx11_abi)
if(_outback_version VERSION_LESS 2.11)
  message(FATAL_ERROR "Outback needs torch 2.11 or newer; ${_outback_torch} is ${_outback_version}.")
endif()
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _outback_minor "${_outback_version}")
if(_outback_minor VERSION_GREATER 2.15) # conformance/supported.py has the same numbers
  message(WARNING "torch ${_outback_version} is newer than the supported 2.11 to 2.15: "
                  "`outback conformance` with --baseline says which parts differ.")
endif()
set_property(GLOBAL PROPERTY OUTBACK_TORCH_MINOR "${_outback_minor}")
set_property(GLOBAL PROPERTY OUTBACK_TORCH_FOLDER "${_outback_torch}")
message(STATUS "Outback: torch ${_outback_version} in ${_outback_torch}")

# ---- Its libraries.

_outback_torch_library("${_outback_torch}" c10)
_outback_torch_library("${_outback_torch}" torch_cpu)
_outback_torch_library("${_outback_torch}" torch) # empty, but it needs the CUDA or XPU libraries of a torch that has them

# Imported, so that its headers are system headers: their warnings are not ours.
add_library(outback::libtorch INTERFACE IMPORTED GLOBAL)
target_compile_features(outback::libtorch INTERFACE cxx_std_20)
target_include_directories(outback::libtorch INTERFACE "${_outback_torch}/include"
                                                       "${_outback_torch}/include/torch/csrc/api/include")
# The messages of torch's headers name no folder of this machine. Here, as the options of what a target links come after its
# own: torch may be in a folder that these map.
target_compile_options(outback::libtorch INTERFACE "-fmacro-prefix-map=${_outback_torch}/=torch/")
target_compile_definitions(
  outback::libtorch
  INTERFACE _GLIBCXX_USE_CXX11_ABI=${_outback_cxx11_abi}
            # torch ships fmt's headers and no fmt library; another fmt beside them gives undefined symbols.
            FMT_HEADER_ONLY=1)
target_link_libraries(outback::libtorch INTERFACE outback::libtorch::torch outback::libtorch::torch_cpu
                                                  outback::libtorch::c10)

# _outback_shared_cxx_library(): a compiler that links libstdc++ statically gives each of our libraries one of its own.
# torch has the shared one, and both write to the same streams, as in TORCH_CHECK: that crashes. So it is named in full.
function(_outback_shared_cxx_library)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/outback_cxx_library")
  if(NOT DEFINED OUTBACK_CXX_LIBRARY_IS_STATIC)
    file(WRITE "${folder}/stream.cpp" "#include <sstream>\nint main() { return std::ostringstream().str().size(); }\n")
    try_compile(linked "${folder}/build" "${folder}/stream.cpp" COPY_FILE "${folder}/stream")
    set(needed libstdc++.so)
    if(linked)
      file(STRINGS "${folder}/stream" needed REGEX "^lib(std)?c\\+\\+\\.so") # libc++ is the compiler's own choice
    endif()
    unset(linked CACHE)
    if(needed)
      set(static OFF)
    else()
      set(static ON)
    endif()
    set(OUTBACK_CXX_LIBRARY_IS_STATIC ${static} CACHE INTERNAL "The compiler links libstdc++ statically.")
  endif()
  if(NOT OUTBACK_CXX_LIBRARY_IS_STATIC)
    return()
  endif()
  set(system "/usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu" /usr/lib64) # such a compiler need not know the system's folders
  find_library(OUTBACK_LIBSTDCXX NAMES libstdc++.so.6 PATHS ${system})
  find_library(OUTBACK_LIBGCC NAMES libgcc_s.so.1 PATHS ${system})
  mark_as_advanced(OUTBACK_LIBSTDCXX OUTBACK_LIBGCC)
  if(NOT OUTBACK_LIBSTDCXX OR NOT OUTBACK_LIBGCC)
    message(WARNING "${CMAKE_CXX_COMPILER} links libstdc++ statically, and torch has the shared one: error messages written "
                    "by both may crash. Set OUTBACK_LIBSTDCXX to libstdc++.so.6 and OUTBACK_LIBGCC to libgcc_s.so.1.")
    return()
  endif()
  message(STATUS "Outback: the compiler links libstdc++ statically; ${OUTBACK_LIBSTDCXX} is linked, as torch has it")
  target_link_libraries(outback::libtorch INTERFACE "${OUTBACK_LIBSTDCXX}" "${OUTBACK_LIBGCC}")
endfunction()
_outback_shared_cxx_library()

# _outback_torch_distributed(): asks the library, since the headers are there either way.
function(_outback_torch_distributed)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_QUIET ON)
  set(CMAKE_REQUIRED_LIBRARIES outback::libtorch::torch_cpu)
  set(CMAKE_REQUIRED_LINK_OPTIONS "LINKER:--unresolved-symbols=ignore-in-shared-libs")
  check_cxx_source_compiles("extern \"C\" char _ZTIN4c10d7BackendE; int main() { return _ZTIN4c10d7BackendE; }"
                            OUTBACK_TORCH_DISTRIBUTED)
endfunction()
_outback_torch_distributed()
mark_as_advanced(OUTBACK_TORCH_DISTRIBUTED)

if(OUTBACK_BUILD_PYTHON AND Python_Development.Module_FOUND AND EXISTS "${_outback_torch}/lib/libtorch_python.so")
  _outback_torch_library("${_outback_torch}" torch_python)
  add_library(outback::libtorch_python INTERFACE IMPORTED GLOBAL)
  target_include_directories(outback::libtorch_python INTERFACE ${Python_INCLUDE_DIRS})
  target_link_libraries(outback::libtorch_python INTERFACE outback::libtorch::torch_python outback::libtorch)
  set_property(GLOBAL PROPERTY OUTBACK_PYTHON_SUFFIX ".${Python_SOABI}.so")
elseif(OUTBACK_BUILD_PYTHON)
  message(STATUS "Outback: no Python half, for want of Python's headers or of libtorch_python")
endif()
