// A twin, as CUDA is one, for torch builds that have none: HPU.
#include "tests/ops/engine_target.h"
#include "tests/ops/hpu_kernels.h"
#include "tests/twin/hpu.h"

namespace outback::test {

const outback_runtime& engine_runtime() {
  return hpu_runtime();
}

void register_engine_target() {
  register_hpu(2);
  register_hpu_kernels();
}

int target_kernels_run() {
  return hpu_kernels_run();
}

int64_t target_bytes_allocated() {
  int64_t sum = 0;
  for (const c10::DeviceIndex index : {0, 1}) {
    sum += hpu_allocator().getDeviceStats(index).allocated_bytes[0].allocated;
  }
  return sum;
}

}  // namespace outback::test
