#include "backend_template/runtimes/level_zero/driver_api.hpp"

#include <dlfcn.h>

namespace outback::level_zero {
namespace {

template <class Function>
bool find_in(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string load(const std::string& library, driver_api& api) {
  // Never closed: drivers have threads, and handlers that run when the process ends.
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* const why = dlerror();
    return std::string("there is no Level Zero loader: ") +
           (why != nullptr ? why : "unknown error") +
           ". Install it (Debian: libze1), or name it with OUTBACK_ZE_LOADER=<path>";
  }
  // All missing functions are named, since one alone would say little about what the library is.
  std::string missing;
#define OUTBACK_ZE_FIND(name)            \
  if (!find_in(opened, #name, api.name)) \
    missing += std::string(missing.empty() ? "" : ", ") + #name;
#define OUTBACK_ZE_LOOK_FOR(name) find_in(opened, #name, api.name);
#define OUTBACK_ZE_LOOK_FOR_NEWER(name, type) find_in(opened, #name, api.name);
  OUTBACK_ZE_REQUIRED(OUTBACK_ZE_FIND)
  OUTBACK_ZE_OPTIONAL(OUTBACK_ZE_LOOK_FOR)
  OUTBACK_ZE_NEWER(OUTBACK_ZE_LOOK_FOR_NEWER)
#undef OUTBACK_ZE_FIND
#undef OUTBACK_ZE_LOOK_FOR
#undef OUTBACK_ZE_LOOK_FOR_NEWER
  if (missing.empty()) return "";
  return library + " is no Level Zero loader: it has no " + missing;
}

}  // namespace outback::level_zero
