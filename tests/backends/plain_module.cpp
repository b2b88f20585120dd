// acme without any method: for PyTorch to generate its own, which ours are compared with.
#include <outback/python.h>

#include "backend_template/runtimes/host/host.h"

PYBIND11_MODULE(_C, module) {
  outback::register_backend(module, {.name = "acme",
                                     .runtime = outback_host_runtime(),
                                     .amp_dtypes = {at::kHalf, at::kBFloat16},
                                     .tensor_methods = false,
                                     .module_methods = false,
                                     .packed_sequence_methods = false,
                                     .storage_methods = false});
}
