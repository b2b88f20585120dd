// The backend. Its kernels register themselves, before or after this: the order does not matter.
#include <outback/linked_runtime.h>
#include <outback/python.h>

PYBIND11_MODULE(_C, module) {
  outback::register_backend(module, {.name = "acme",
                                     .runtime = outback::linked_runtime(),
                                     .amp_dtypes = {at::kHalf, at::kBFloat16}});
}
