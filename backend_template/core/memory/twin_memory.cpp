#include "backend_template/core/memory/twin_memory.h"

#include <utility>

#include "backend_template/core/memory/device_allocator.h"

namespace outback::core {

c10::DataPtr adopt_twin_memory(c10::DataPtr&& memory, std::size_t size, c10::Device device) {
  return adopt(std::move(memory), size, device.index());
}

}  // namespace outback::core
