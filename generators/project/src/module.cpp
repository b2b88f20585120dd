// The backend: a name, a runtime, and what autocast may use. Outback makes the rest.
#include <outback/linked_runtime.h>
#include <outback/module.h>

OUTBACK_MODULE(_C) {
  return {.name = "acme",
          .runtime = outback::linked_runtime(),
          .amp_dtypes = {at::kHalf, at::kBFloat16},
          .unsupported_dtypes = {}};  // what the device lacks: {at::kDouble, at::kComplexDouble}
}
