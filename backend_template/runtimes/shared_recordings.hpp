// The recordings of an event that several processes record and wait for
// (OUTBACK_EVENT_INTERPROCESS). Recordings are numbers in memory that the processes share, and a
// futex wakes the waiting threads. The runtime must begin and complete recordings in the order of
// its streams.
#pragma once

#include <cstdint>

#include "backend_template/runtimes/shared_file.hpp"
#include "outback/runtime.h"

namespace outback {

/// May be used from any thread of any process that opened the event. If a process ends before it
/// has completed a recording, the event stays pending for ever in the other processes.
class shared_recordings {
 public:
  /// Makes an event that was never recorded, which counts as done. Throws like the constructor and
  /// `map` of shared_file.
  shared_recordings();
  /// Opens an event of another process or of this process. The caller still owns `handle.fd`.
  /// Throws like shared_file, and throws outback::invalid_argument for an event that another
  /// version of Outback made.
  explicit shared_recordings(const outback_ipc_handle& handle);
  ~shared_recordings();
  shared_recordings(const shared_recordings&) = delete;
  shared_recordings& operator=(const shared_recordings&) = delete;

  /// Returns a handle for another process; the caller must close its descriptor. Throws
  /// outback::runtime_error if no descriptors are left.
  outback_ipc_handle handle() const { return file_.handle(); }

  /// Returns the number of a new recording. From now on the event stands for this recording in all
  /// processes. Other processes may wait for it at once, so the caller must pass the number to
  /// `complete`: call `begin` only when no later step can fail.
  uint64_t begin() noexcept;
  /// Marks the recording as done and wakes the waiting threads. While 256 recordings are pending,
  /// blocks until the oldest of them is done.
  void complete(uint64_t recording) noexcept;
  /// Makes a recording that is already done. Returns false, and makes no recording, if `complete`
  /// would block or if another recording begins at the same time.
  bool try_record() noexcept;

  /// Returns the number of the last recording; 0 if the event was never recorded.
  uint64_t last() const noexcept;
  /// Returns whether the recording is done.
  bool done(uint64_t recording) const noexcept;
  /// Blocks the caller until `done(recording)`.
  void wait(uint64_t recording) const noexcept;

 private:
  struct state;

  const shared_file file_;
  state* const state_;  // in the mapped file, which all processes share
};

}  // namespace outback
