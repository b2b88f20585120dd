// The backend. Its kernels register themselves, before or after this: the order does not matter.
#include <outback/python.h>

#include "backend_template/runtimes/host/host.h"

PYBIND11_MODULE(_C, module) {
  outback::register_backend(module, {.name = "acme",
                                     .runtime = outback_host_runtime(),
                                     .amp_dtypes = {at::kHalf, at::kBFloat16}});
}
