// What engine_test.cpp tests the engine with: the CPU's kernels, or those of a twin. Each of the
// two programs links one of engine_target_cpu.cpp and engine_target_twin.cpp.
#pragma once

#include <cstdint>

#include "outback/runtime.h"

namespace outback::test {

/// The runtime of the backend, two devices.
const outback_runtime& engine_runtime();

/// Registers the twin and its kernels. Before `register_backend`.
void register_engine_target();

/// How many kernels of the target have run, and how many bytes they and its allocator's other users
/// have allocated on all devices so far. 0 for the CPU, which does not count.
int target_kernels_run();
int64_t target_bytes_allocated();

}  // namespace outback::test
