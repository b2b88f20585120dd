// The memory that a capture restores when it ends. Recorded work must leave no trace before the
// first replay. But an operator that a CPU kernel serves runs while it is recorded, since only
// running it tells the shapes of its results. So the end of the capture restores the memory that it
// overwrote.
#pragma once

#include <c10/core/Storage.h>

namespace outback::core {

/// Copies of the bytes of storages, which must be in memory that the CPU addresses. Thread-safe.
///
/// Several captures may be open at once and write to the same memory. Each capture saves the bytes
/// from before the first of them, so captures may end in any order.
class capture_rollback {
 public:
  capture_rollback() = default;
  capture_rollback(const capture_rollback&) = delete;
  capture_rollback& operator=(const capture_rollback&) = delete;
  /// Drops the copies that `roll_back` has not written back.
  ~capture_rollback();

  /// Copies the bytes that the storage held before the open captures wrote to it, and keeps the
  /// storage alive. Does nothing if this object has a copy of the whole storage already. Call it
  /// before the capture first writes to the storage.
  void keep(const c10::Storage& storage);

  /// Writes all copies back and drops them, the latest one first. Skips a storage that has got
  /// other memory since its copy was made.
  void roll_back() noexcept;
};

}  // namespace outback::core
