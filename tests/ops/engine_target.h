// The target that engine_test.cpp tests the engine with: the CPU, or another device type. Each of
// the two programs links one of engine_target_cpu.cpp and engine_target_other_type.cpp.
#pragma once

#include "backend_template/ops/in_place/kernel_target.h"

namespace outback::test {

const ops::kernel_target& engine_target();

/// Has the target's kernels serve the operators of the backend. Before `register_backend`.
void register_engine_target();

/// True if `memory` came from the target's allocator and is in use; always true for the CPU.
bool is_target_memory(const void* memory);

/// How many kernels of the target have run; 0 for the CPU, which does not count.
int target_kernels_run();

}  // namespace outback::test
