// acme on the null runtime: a backend of the eight required slots.
#include <outback/python.h>

#include "backend_template/runtimes/null/null.h"

PYBIND11_MODULE(_C, module) {
  outback::register_backend(module, {.name = "acme",
                                     .runtime = outback_null_runtime(),
                                     .amp_dtypes = {at::kHalf, at::kBFloat16}});
}
