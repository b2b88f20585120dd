// The backend: a name, a runtime, and what autocast may use. Outback makes the rest.
#include <outback/python.h>

#include "backend_template/runtimes/host/host.h"

PYBIND11_MODULE(_C, module) {
  outback::register_backend(module, {.name = "acme",
                                     .runtime = outback_host_runtime(),
                                     .amp_dtypes = {at::kHalf, at::kBFloat16}});
}
