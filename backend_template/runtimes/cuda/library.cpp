#include "backend_template/runtimes/cuda/library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <optional>

#include <string_view>

#include "backend_template/runtimes/cuda/cudart_places.hpp"
#include "outback/detail/variables.hpp"

namespace outback::cuda {
namespace {

constexpr const char* default_names[] = {"libcudart.so.13", "libcudart.so.12"};
constexpr int oldest_version = 12000;

// Wheels rename the file, to libcudart-<hash>.so.12 for example.
bool is_cudart(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libcudart.so") ||
         (name.starts_with("libcudart-") && name.find(".so") != std::string_view::npos);
}

std::string path_of(void* handle) {
  const link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

// Returns a handle of the libcudart that is loaded already, or null. RTLD_NOLOAD finds a library by
// the name that it has in its file (its soname); one that a wheel renamed is found by its path.
void* open_loaded() {
  for (const char* name : default_names) {
    if (void* handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return handle;
  }
  const std::string path = loaded_cudart_path();
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

void* open_library(std::string& problem) {
  // RTLD_LOCAL: only lookups through this handle see its functions, so they hide no other
  // library's.
  constexpr int flags = RTLD_LAZY | RTLD_LOCAL;
  const auto chosen = outback::detail::library_variable("OUTBACK_CUDART");
  // A library that was named and cannot be opened is an error: falling back to another would hide
  // it.
  if (chosen) {
    void* handle = dlopen(chosen->c_str(), flags);
    if (handle == nullptr) {
      problem = "OUTBACK_CUDART=" + outback::detail::shown(*chosen) +
                " cannot be opened: " + outback::detail::printable(dlerror());
    }
    return handle;
  }
  // The order from here on is explained in library.hpp.
  if (void* handle = open_loaded()) return handle;
  cudart_search places;
  if (void* handle = places.open_one_of(cudarts_of_wheels())) return handle;
  for (const char* name : default_names) {
    if (void* handle = dlopen(name, flags)) return handle;
  }
  if (void* handle = places.open_one_of(cudarts_of_toolkit())) return handle;
  problem =
      "CUDA is not there. Install the CUDA Toolkit, a torch with CUDA or the wheel "
      "nvidia-cuda-runtime, or name a libcudart.so.13 or libcudart.so.12 with "
      "OUTBACK_CUDART=<path>. None is loaded, found by the dynamic loader, or in " +
      places.text();
  return nullptr;
}

std::string look_up_all(void* handle, cudart& functions) {
  // All missing functions are named. Optional ones stay null.
  std::string missing;
#define OUTBACK_FIND(name) look_up(handle, functions.name, &missing);
#define OUTBACK_LOOK_FOR(name) look_up(handle, functions.name);
  OUTBACK_CUDART_REQUIRED(OUTBACK_FIND)
  OUTBACK_CUDART_OPTIONAL(OUTBACK_LOOK_FOR)
#undef OUTBACK_FIND
#undef OUTBACK_LOOK_FOR
  if (!missing.empty()) return "has no " + missing;
  int version = 0;
  if (const cudaError_t error = functions.cudaRuntimeGetVersion(&version); error != cudaSuccess) {
    return "does not tell its version: cudaRuntimeGetVersion answered " + std::to_string(error);
  }
  if (version < oldest_version) {
    return "is of CUDA " + version_text(version) + ": 12.0 or newer is needed";
  }
  return "";
}

library load() {
  library found;
  void* handle = open_library(found.problem);
  if (handle == nullptr) return found;
  found.path = path_of(handle);
  if (const std::string problem = look_up_all(handle, found.functions); !problem.empty()) {
    found.problem = found.path + " " + problem;
    found.path.clear();
  }
  return found;
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string loaded_cudart_path() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        if (info->dlpi_name == nullptr || !is_cudart(info->dlpi_name)) return 0;
        *static_cast<std::string*>(result) = info->dlpi_name;
        return 1;
      },
      &found);
  return found;
}

const library& loaded_library() {
  // Leaked on purpose: slots may be called after the destructors of static objects have run.
  static const library& only = *new library(load());
  return only;
}

}  // namespace outback::cuda
