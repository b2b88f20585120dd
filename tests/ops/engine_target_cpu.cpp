// The CPU, by the ways that users' programs take: the kernels that need no alias, unboxed, boxed.
#include "backend_template/ops/in_place/cpu_target.h"
#include "tests/ops/engine_target.h"

namespace outback::test {

const ops::kernel_target& engine_target() {
  return ops::cpu_target;
}

void register_engine_target() {}

bool is_target_memory(const void* /*memory*/) {
  return true;
}

int target_kernels_run() {
  return 0;
}

}  // namespace outback::test
