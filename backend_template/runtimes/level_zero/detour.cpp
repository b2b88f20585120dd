#include "backend_template/runtimes/level_zero/detour.hpp"

#include "backend_template/runtimes/level_zero/driver.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {

void* detour_blocks::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      void* const memory = free_.back();
      free_.pop_back();
      return memory;
    }
  }
  const ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  void* made = nullptr;
  // Without the lock: allocating may take long, and other copies give blocks back meanwhile.
  call(driver_.api().zeMemAllocHost, driver_.context(), &desc, detour_size, 64, &made);
  const std::lock_guard lock(mutex_);
  free_.reserve(++made_);  // so that give_back never allocates
  return made;
}

void detour_blocks::give_back(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(memory);
}

}  // namespace outback::level_zero
