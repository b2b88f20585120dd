// An event that several processes see: its recordings are numbered in memory that they share.
#pragma once

#include <cstdint>
#include <memory>

#include "backend_template/runtimes/host/shared_file.hpp"
#include "backend_template/runtimes/host/stream.hpp"

namespace outback::host {

/// May be used from any thread of any process that has it. A process that ends before its streams
/// reached what it recorded leaves that pending for ever.
class ipc_event : public std::enable_shared_from_this<ipc_event> {
 public:
  /// Throws like shared_file.
  ipc_event();
  explicit ipc_event(const outback_ipc_handle& handle);
  ~ipc_event();

  outback_ipc_handle handle() const { return file_.handle(); }

  void record(stream& where);
  /// Makes `waiting` wait, not the caller, for what is the last recording now.
  void wait(stream& waiting);
  bool query() const;
  void sync() const;

 private:
  struct state;

  bool done(uint64_t recording) const;
  void wait_for(uint64_t recording) const;
  void complete(uint64_t recording) const;

  const shared_file file_;
  state* const state_;  // mapped
};

}  // namespace outback::host
