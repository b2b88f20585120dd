// acme without any method: for PyTorch to generate its own, which ours are compared with.
#include <outback/module.h>

#include "backend_template/runtimes/host/host.h"

OUTBACK_MODULE(_C) {
  return {.name = "acme",
          .runtime = outback_host_runtime(),
          .amp_dtypes = {at::kHalf, at::kBFloat16},
          .tensor_methods = false,
          .module_methods = false,
          .packed_sequence_methods = false,
          .storage_methods = false};
}
