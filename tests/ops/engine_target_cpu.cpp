// The CPU, by the ways that users' programs take: the kernels that need no alias, unboxed, boxed.
#include "tests/core/test_backend.h"
#include "tests/ops/engine_target.h"

namespace outback::test {

const outback_runtime& engine_runtime() {
  return *host_table();
}

void register_engine_target() {}

int target_kernels_run() {
  return 0;
}

int64_t target_bytes_allocated() {
  return 0;
}

}  // namespace outback::test
