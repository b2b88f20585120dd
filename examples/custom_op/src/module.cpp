// The backend. Its kernels register themselves, before or after this: the order does not matter.
#include <outback/linked_runtime.h>
#include <outback/module.h>

OUTBACK_MODULE(_C) {
  return {.name = "acme",
          .runtime = outback::linked_runtime(),
          .amp_dtypes = {at::kHalf, at::kBFloat16}};
}
