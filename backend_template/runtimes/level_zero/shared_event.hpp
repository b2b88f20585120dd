// An event that several processes record and wait for (OUTBACK_EVENT_INTERPROCESS).
//
// It is not made of the driver's event pools, although these can be shared. A recording needs an
// event that nothing in flight refers to, so all processes would have to agree which event of the
// pool is meant and when it may be reset. Instead, recordings are numbers in a file in memory.
// Threads of the host write them and wait for them, in the order of the streams (host_worker.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "outback/runtime.h"

namespace outback::level_zero {

/// May be used from any thread of any process that has it open. Owns one descriptor and one
/// mapping.
class shared_event : public std::enable_shared_from_this<shared_event> {
 public:
  /// Makes an event that was never recorded. Throws outback::runtime_error where descriptors or
  /// memory are short.
  static std::shared_ptr<shared_event> make();
  /// Opens the event that `handle` and its descriptor name. `handle.fd` stays the caller's. Throws
  /// outback::invalid_argument if it is no such handle, and outback::runtime_error where no
  /// descriptors are left.
  static std::shared_ptr<shared_event> open(const outback_ipc_handle& handle);
  ~shared_event();
  shared_event(const shared_event&) = delete;
  shared_event& operator=(const shared_event&) = delete;

  /// Returns a handle for another process; the caller closes its descriptor. Throws
  /// outback::runtime_error where no descriptors are left.
  outback_ipc_handle handle() const;

  /// Returns the number of a new recording, for which the event stands from now on in all
  /// processes. It must be passed to `complete`.
  uint64_t begin() noexcept;
  /// Marks the recording as done and wakes those who wait. Blocks while 256 recordings are under
  /// way, until the oldest of them is done.
  void complete(uint64_t recording) const noexcept;

  /// The number of the last recording; 0 if there was none, which counts as done.
  uint64_t last() const noexcept;
  /// Whether the recording, or a later one in its place, is done.
  bool done(uint64_t recording) const noexcept;
  /// Blocks the caller until `done(recording)`.
  void wait(uint64_t recording) const noexcept;

 private:
  struct state;
  explicit shared_event(int fd);
  static state* map(int fd);

  const int fd_;
  state* const state_;
};

}  // namespace outback::level_zero
