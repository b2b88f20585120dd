// What a capture has to put back when it ends. Work that a capture records must not have run. But
// an operator that a CPU kernel serves does run while it is recorded, since only that tells the
// shapes of its results; so what it overwrote is restored afterwards.
#pragma once

#include <c10/core/Storage.h>

namespace outback::core {

/// Copies of the bytes of storages, which must be in memory that the CPU addresses. Thread-safe.
///
/// Several captures may be open at once and write to the same memory. Each of them then keeps what
/// was there before all of them, so that it does not matter which one ends first.
class capture_rollback {
 public:
  capture_rollback() = default;
  capture_rollback(const capture_rollback&) = delete;
  capture_rollback& operator=(const capture_rollback&) = delete;
  /// Drops the copies that `roll_back` has not written back.
  ~capture_rollback();

  /// Copies what the storage held before the open captures wrote to it, and keeps the storage
  /// alive. Does nothing if there is a copy of all of it already. Call it before the capture first
  /// writes to the storage.
  void keep(const c10::Storage& storage);

  /// Writes all copies back and drops them, the latest one first. Leaves a storage as it is if it
  /// has got other memory since its copy was made.
  void roll_back() noexcept;
};

}  // namespace outback::core
