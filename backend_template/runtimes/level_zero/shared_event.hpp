// An event that several processes record and wait for.
//
// Not made of the driver's event pools, although these can be shared: a recording needs an event
// that nothing in flight refers to, so all processes would have to agree on which event of the pool
// is meant, and when it may be reset. Recordings are numbers in a file in memory instead, which the
// host's threads write and wait for in the order of the streams (see host_worker.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "outback/runtime.h"

namespace outback::level_zero {

/// May be used from any thread, and from all processes that opened it.
class shared_event : public std::enable_shared_from_this<shared_event> {
 public:
  /// One that was never recorded. Throws outback::runtime_error where there are no descriptors
  /// left.
  static std::shared_ptr<shared_event> make();
  /// The event that `handle`, with its descriptor, tells of. Throws outback::invalid_argument where
  /// it tells of none.
  static std::shared_ptr<shared_event> open(const outback_ipc_handle& handle);
  ~shared_event();
  shared_event(const shared_event&) = delete;
  shared_event& operator=(const shared_event&) = delete;

  /// With a descriptor of its own, which is the caller's to close.
  outback_ipc_handle handle() const;

  /// A number for a new recording, which the event stands for from now on.
  uint64_t begin() noexcept;
  /// What was enqueued before it is done. Waits where 256 recordings are under way.
  void complete(uint64_t recording) const noexcept;

  uint64_t last() const noexcept;
  bool done(uint64_t recording) const noexcept;
  void wait(uint64_t recording) const noexcept;

 private:
  struct state;
  explicit shared_event(int fd);
  static state* map(int fd);

  const int fd_;
  state* const state_;
};

}  // namespace outback::level_zero
