// The recordings of an event that several processes record and wait for
// (OUTBACK_EVENT_INTERPROCESS). They are numbers in memory that the processes share, and a futex
// wakes those who wait. Who writes a number, and when, is the runtime's business: in the order of
// its streams.
#pragma once

#include <cstdint>

#include "backend_template/runtimes/shared_file.hpp"
#include "outback/runtime.h"

namespace outback {

/// May be used from any thread of any process that opened it. A process that ends before it has
/// completed a recording leaves the event pending for ever in the other processes.
class shared_recordings {
 public:
  /// Makes an event that was never recorded, which counts as done. Throws like shared_file's
  /// constructor and `map`.
  shared_recordings();
  /// Opens the event of another process, or of this one. `handle.fd` stays the caller's. Throws
  /// like shared_file, and outback::invalid_argument for an event that another version made.
  explicit shared_recordings(const outback_ipc_handle& handle);
  ~shared_recordings();
  shared_recordings(const shared_recordings&) = delete;
  shared_recordings& operator=(const shared_recordings&) = delete;

  /// A handle for another process; the caller closes its descriptor. Throws outback::runtime_error
  /// where no descriptors are left.
  outback_ipc_handle handle() const { return file_.handle(); }

  /// Returns the number of a new recording, for which the event stands from now on in all
  /// processes. Others may wait for it at once, so it must be passed to `complete`: take it when
  /// nothing can fail any more.
  uint64_t begin() noexcept;
  /// Marks the recording as done and wakes those who wait. Blocks while 256 recordings are under
  /// way, until the oldest of them is done.
  void complete(uint64_t recording) noexcept;
  /// Makes a recording that is done. Returns false, and makes none, where `complete` would block,
  /// and if another recording begins at the same time.
  bool try_record() noexcept;

  /// The number of the last recording; 0 if there was none.
  uint64_t last() const noexcept;
  /// Whether the recording is done.
  bool done(uint64_t recording) const noexcept;
  /// Blocks the caller until `done(recording)`.
  void wait(uint64_t recording) const noexcept;

 private:
  struct state;

  const shared_file file_;
  state* const state_;  // in the mapped file, which all processes share
};

}  // namespace outback
