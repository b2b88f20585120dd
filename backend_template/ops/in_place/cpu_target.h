// The CPU as the engine's target: that of every device without a twin.
#pragma once

#include <c10/core/CPUAllocator.h>

#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/in_place/kernel_target.h"

namespace outback::ops {

/// Where the device can use host memory (OUTBACK_ADDRESSES_HOST) and has no twin, the result stays
/// where it is and counts as the device's; it goes back to its own deleter when no stream uses it
/// any more. Elsewhere a copy is enqueued on the device's current stream.
///
/// Throws c10::OutOfMemoryError, since adopted memory counts against the device's limit too, and
/// c10::Error while the device's current stream is capturing, since no replay would adopt again.
c10::DataPtr adopt_cpu_memory(c10::DataPtr&& memory, std::size_t size, c10::Device device);

/// A kernel runs once the device's current stream is idle, and draws its random numbers from a new
/// generator at the position of the device's.
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
