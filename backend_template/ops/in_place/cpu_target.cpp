#include "backend_template/ops/in_place/cpu_target.h"

#include <utility>

#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"

namespace outback::ops {

c10::DataPtr adopt_cpu_memory(c10::DataPtr&& memory, std::size_t size, c10::Device device) {
  if (!core::twin_of(device.index()) && core::addresses_host(device.index()))
    return core::adopt(std::move(memory), size, device.index());
  c10::DataPtr copy = core::allocate_on(device.index(), memory.get() == nullptr ? 0 : size);
  if (memory.get() != nullptr) {
    core::copy_bytes(copy.get(), device, memory.get(), c10::Device(c10::kCPU), size,
                     /*non_blocking=*/true);
  }
  return copy;
}

}  // namespace outback::ops
