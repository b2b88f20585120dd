// What an operation of a process group is called where somebody reads of it: in errors.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>
#include <exception>
#include <string>

namespace outback::distributed {

/// One call of a group's operation. A plain value.
struct operation {
  c10d::OpType type;
  const char* name;                   // as torch.distributed calls it: "all_reduce"
  std::string group;                  // as the user called it, or torch did
  int rank, size;                     // of this process in the group
  std::chrono::milliseconds timeout;  // the group's
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();

  /// Returns "acme: all_reduce of group default_pg (rank 0 of 2)", the beginning of every error.
  std::string text() const;

  /// Returns a c10::DistBackendError (torch.distributed.DistBackendError, a RuntimeError) that says
  /// which operation failed, after how long, and what `error` says. Of an error that has been made
  /// here, returns the same.
  std::exception_ptr failed(const std::exception_ptr& error) const;

  /// Returns the same error, with `what` as the end of its sentence.
  std::exception_ptr failed(const std::string& what) const;
};

/// Returns the operation of `group`, which the user has called by its description or not at all:
/// then the name in `options` is the group's.
operation operation_of(const c10d::Backend& group, const c10d::Backend::Options& options,
                       const char* called, c10d::OpType type);

/// Why a group is of no use in a forked child.
inline constexpr const char* in_a_fork =
    "this process is a fork of the one that made the group, whose connections it cannot use: call "
    "init_process_group here, or start processes with spawn";

}  // namespace outback::distributed
