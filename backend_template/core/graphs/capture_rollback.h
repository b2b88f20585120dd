// What a capture must leave as it was. Work that a capture records has not run when it ends; where
// operators run on the CPU to be recorded, what they changed is put back.
#pragma once

#include <c10/core/Storage.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace outback::core {

/// Bytes of storages in memory that the CPU addresses. Thread-safe.
class capture_rollback {
 public:
  /// Keeps a copy of what the storage holds now, unless there is one already. To be called before
  /// the first write.
  void keep(const c10::Storage& storage);

  /// Puts everything back, and forgets it. A storage that has got other memory meanwhile is left
  /// as it is.
  void roll_back() noexcept;

 private:
  struct kept {
    c10::Storage storage;
    const void* data;
    std::size_t size;
    std::unique_ptr<std::byte[]> bytes;
  };

  std::mutex mutex_;
  std::vector<kept> all_;
};

}  // namespace outback::core
