#include "backend_template/runtimes/level_zero/driver_api.hpp"

namespace outback::level_zero {

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
#define OUTBACK_ZE_FIND(name) look_up(opened, api.name, &missing);
#define OUTBACK_ZE_LOOK_FOR(name, ...) look_up(opened, api.name);
  OUTBACK_ZE_REQUIRED(OUTBACK_ZE_FIND)
  OUTBACK_ZE_OPTIONAL(OUTBACK_ZE_LOOK_FOR)
  OUTBACK_ZE_NEWER(OUTBACK_ZE_LOOK_FOR)
#undef OUTBACK_ZE_FIND
#undef OUTBACK_ZE_LOOK_FOR
  return missing.empty() ? "" : library + " is no Level Zero loader: it has no " + missing;
}

}  // namespace outback::level_zero
