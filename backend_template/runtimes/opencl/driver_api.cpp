#include "backend_template/runtimes/opencl/driver_api.hpp"

namespace outback::opencl {

std::string load(const std::string& library, driver_api& api) {
  // Never closed: drivers have threads, and handlers that run when the process ends.
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* const why = dlerror();
    return std::string("there is no OpenCL loader: ") + (why != nullptr ? why : "unknown error") +
           ". Install it (Debian: ocl-icd-libopencl1), or name it with "
           "OUTBACK_OPENCL_LOADER=<path>";
  }
  // All missing functions are named, since one alone would say little about what the library is.
  std::string missing;
#define OUTBACK_CL_FIND(name) look_up(opened, api.name, &missing);
#define OUTBACK_CL_LOOK_FOR(name) look_up(opened, api.name);
  OUTBACK_CL_REQUIRED(OUTBACK_CL_FIND)
  OUTBACK_CL_OPTIONAL(OUTBACK_CL_LOOK_FOR)
#undef OUTBACK_CL_FIND
#undef OUTBACK_CL_LOOK_FOR
  return missing.empty() ? ""
                         : library + " is no OpenCL loader of version 2.0: it has no " + missing;
}

}  // namespace outback::opencl
