// The CPU as the engine's target, for every device without a twin.
#pragma once

#include <c10/core/CPUAllocator.h>

#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/kernel_target.h"

namespace outback::ops {

/// Returns `memory`, `size` bytes, as memory of `device`. If the device can use host memory
/// (OUTBACK_ADDRESSES_HOST) and has no twin, the memory stays in place and counts as the device's;
/// its own deleter frees it when no stream uses it any more. Otherwise enqueues a copy to new
/// device memory on the device's current stream.
///
/// Throws c10::OutOfMemoryError, since adopted memory counts against the device's limit too, and
/// c10::Error while the device's current stream is capturing, since a replay would not repeat the
/// adoption.
c10::DataPtr adopt_cpu_memory(c10::DataPtr&& memory, std::size_t size, c10::Device device);

/// The CPU's target: a kernel waits until the device's current stream is idle, and draws random
/// numbers from a new generator at the position of the device's generator.
inline constexpr kernel_target cpu_target{
    .type = c10::DeviceType::CPU,
    .backend = c10::BackendComponent::CPUBit,
    .autocast = c10::DispatchKey::AutocastCPU,
    .allocator = &c10::GetCPUAllocator,
    .reaches = &core::runs_cpu_kernels,
    .wait = &core::drain,
    .adopt = &adopt_cpu_memory,
    .generator = &core::shadow_generator,
};

}  // namespace outback::ops
