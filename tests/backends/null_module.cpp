// acme on the null runtime: a backend of the eight required slots.
#include <outback/module.h>

#include "backend_template/runtimes/null/null.h"

OUTBACK_MODULE(_C) {
  return {
      .name = "acme", .runtime = outback_null_runtime(), .amp_dtypes = {at::kHalf, at::kBFloat16}};
}
