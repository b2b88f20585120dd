#include "backend_template/core/memory/twin_memory.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/races/race_finder.h"

namespace outback::core {
namespace {

struct owned_memory {
  std::atomic<uint32_t> owners{1};  // how many DataPtrs of ours own it
  c10::DataPtr memory = {};
  c10::Storage storage = {};  // has the memory in place of `memory`, where others have it too
};

void free_twin_memory(void* context) {
  if (is_in_bad_fork()) return;  // it is the parent's
  auto* const freed = static_cast<owned_memory*>(context);
  // Most memory has one owner: then a load is enough.
  if (freed->owners.load(std::memory_order_acquire) != 1 &&
      freed->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (race_finder* const finder = active_race_finder()) {
    finder->freed(freed->storage ? freed->storage.data() : freed->memory.get());
  }
  delete freed;
}

// For where an owned_memory has its memory, which twins_storage_of() changes.
std::mutex& place_lock() {
  static auto& lock = *new std::mutex;  // leaked: operators may run until the process ends
  return lock;
}

owned_memory* owned_in(const c10::DataPtr& memory) noexcept {
  if (memory.get_deleter() != &free_twin_memory) return nullptr;
  return static_cast<owned_memory*>(memory.get_context());
}

}  // namespace

c10::DataPtr allocate_twin_memory(c10::Device twin, std::size_t size, c10::Device device) {
  // Allocators of PyTorch's allocate on the current device.
  const c10::DeviceGuard on_twin(twin);
  return adopt_twin_memory(c10::GetAllocator(twin.type())->allocate(size), size, device);
}

c10::DataPtr adopt_twin_memory(c10::DataPtr&& memory, std::size_t size, c10::Device device) {
  if (owned_in(memory) != nullptr) {
    memory.unsafe_set_device(device);
    return std::move(memory);
  }
  void* const data = memory.get();
  if (data == nullptr || size == 0) return {nullptr, nullptr, &free_twin_memory, device};
  auto* const owned = new owned_memory{.memory = std::move(memory)};
  return {data, owned, &free_twin_memory, device};
}

c10::DataPtr share_twin_storage(c10::Storage storage, c10::Device device) {
  storage.unsafeGetStorageImpl()->set_resizable(false);
  void* const data = storage.mutable_data();
  auto* const owned = new owned_memory{.storage = std::move(storage)};
  return {data, owned, &free_twin_memory, device};
}

c10::Storage twins_storage_of(const c10::DataPtr& memory, std::size_t size) {
  owned_memory* const owned = owned_in(memory);
  if (owned == nullptr) return {};
  const std::lock_guard<std::mutex> lock(place_lock());
  if (!owned->storage) {
    const c10::DeviceType twin = owned->memory.device().type();
    // Not resizable: the memory is ours as well.
    owned->storage = c10::Storage(c10::Storage::use_byte_size_t(), size, std::move(owned->memory),
                                  c10::GetAllocator(twin), /*resizable=*/false);
  }
  const bool is_all = owned->storage.nbytes() == size && owned->storage.data() == memory.get();
  return is_all ? owned->storage : c10::Storage();
}

bool record_twins_stream(const c10::DataPtr& memory, c10::Stream stream) {
  if (owned_in(memory) == nullptr) return false;
  const std::lock_guard<std::mutex> lock(place_lock());
  const c10::DataPtr* const twins = twins_memory_in(memory);
  c10::impl::getDeviceGuardImpl(twins->device().type())->recordDataPtrOnStream(*twins, stream);
  return true;
}

const c10::DataPtr* twins_memory_in(const c10::DataPtr& memory) noexcept {
  const owned_memory* const owned = owned_in(memory);
  if (owned == nullptr) return nullptr;
  return owned->storage ? &owned->storage.data_ptr() : &owned->memory;
}

c10::DataPtr share_twin_memory(const c10::DataPtr& memory, c10::Device device) {
  owned_memory* const owned = owned_in(memory);
  if (owned == nullptr) return {};
  owned->owners.fetch_add(1, std::memory_order_relaxed);
  return {memory.get(), owned, &free_twin_memory, device};
}

}  // namespace outback::core
