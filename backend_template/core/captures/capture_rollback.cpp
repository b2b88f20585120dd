#include "backend_template/core/captures/capture_rollback.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace outback::core {

void capture_rollback::keep(const c10::Storage& storage) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const void* const data = storage.data();
  const std::size_t size = storage.nbytes();
  // A copy of a smaller storage at the same address lacks the rest. A copy of memory that its
  // storage has lost says nothing of who has it now.
  const bool is_kept = std::any_of(all_.begin(), all_.end(), [&](const kept& copy) {
    return copy.data == data && copy.size >= size && copy.storage.data() == data;
  });
  if (data == nullptr || size == 0 || is_kept) return;
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(size);
  std::memcpy(bytes.get(), data, size);
  all_.push_back({storage, data, size, std::move(bytes)});
}

void capture_rollback::roll_back() noexcept {
  // The copies, and the storages that they keep alive, die after the lock is released.
  std::vector<kept> all;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    all.swap(all_);
  }
  // Where copies overlap, the earliest one has what was there before the capture.
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    // The storage was resized in the capture: its old memory may be somebody else's by now.
    if (it->storage.data() != it->data) continue;
    std::memcpy(it->storage.mutable_data(), it->bytes.get(), it->size);
  }
}

}  // namespace outback::core
