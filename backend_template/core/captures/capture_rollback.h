// What a capture has to put back when it ends. Work that a capture records must not have run. But
// an operator that a CPU kernel serves does run while it is recorded, since only that tells the
// shapes of its results; so what it overwrote is restored afterwards.
#pragma once

#include <c10/core/Storage.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace outback::core {

/// Copies of the bytes of storages, which must be in memory that the CPU addresses. Thread-safe.
class capture_rollback {
 public:
  /// Copies what the storage holds now, and keeps the storage alive. Does nothing if there is a
  /// copy of all of it already. Call it before the capture first writes to the storage.
  void keep(const c10::Storage& storage);

  /// Writes all copies back and drops them, the latest one first. Leaves a storage as it is if it
  /// has got other memory since its copy was made.
  void roll_back() noexcept;

 private:
  struct kept {
    c10::Storage storage;
    const void* data;  // the storage's memory at the time of the copy
    std::size_t size;  // in bytes
    std::unique_ptr<std::byte[]> bytes;
  };

  std::mutex mutex_;
  std::vector<kept> all_;
};

}  // namespace outback::core
