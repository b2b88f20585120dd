// An event that several processes see (OUTBACK_EVENT_INTERPROCESS). Its recordings are numbers in
// memory that the processes share, and a futex wakes those who wait.
#pragma once

#include <cstdint>
#include <memory>

#include "backend_template/runtimes/host/shared_file.hpp"
#include "backend_template/runtimes/host/stream.hpp"

namespace outback::host {

/// May be used from any thread of any process that opened it. The object must be owned by a
/// shared_ptr. If a process ends before its streams have reached a recording, the event stays
/// pending for ever in the other processes.
class ipc_event : public std::enable_shared_from_this<ipc_event> {
 public:
  /// Makes an event that was never recorded, which counts as complete. Throws like shared_file's
  /// constructor and `map`.
  ipc_event();
  /// Opens the event of another process, or of this one. `handle.fd` stays the caller's. Throws
  /// like shared_file, and outback::invalid_argument for an event that another version of the
  /// runtime made.
  explicit ipc_event(const outback_ipc_handle& handle);
  ~ipc_event();

  /// A handle for another process; the caller closes its descriptor. Throws outback::runtime_error
  /// where no descriptors are left.
  outback_ipc_handle handle() const { return file_.handle(); }

  /// Makes the event stand for the work that `where` has now, in all processes. The caller does not
  /// wait. Throws what `stream::enqueue` throws; the event then stands for what it stood for.
  void record(stream& where);
  /// Makes later work of `waiting` wait for the recording that is the last one now, whichever
  /// process made it. The caller does not wait. Throws what `stream::enqueue` throws.
  void wait(stream& waiting);
  /// Whether the last recording is complete.
  bool query() const;
  /// Blocks the caller until the last recording is complete.
  void sync() const;

 private:
  struct state;

  bool done(uint64_t recording) const;
  void wait_for(uint64_t recording) const;
  void complete(uint64_t recording) const;

  const shared_file file_;
  state* const state_;  // in the mapped file, which all processes share
};

}  // namespace outback::host
