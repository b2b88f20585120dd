// Describes an operation of a process group in error texts.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <chrono>
#include <exception>
#include <string>

namespace outback::distributed {

/// One call of a group's operation. A plain value.
struct operation {
  c10d::OpType type;
  const char* name;                   // its name in torch.distributed: "all_reduce"
  std::string group;                  // the name from the user or from torch
  int rank, size;                     // of this process in the group
  std::chrono::milliseconds timeout;  // the group's
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();

  /// Returns "acme: all_reduce of group default_pg (rank 0 of 2)", the beginning of every error.
  std::string text() const;

  /// Returns a c10::DistBackendError (torch.distributed.DistBackendError, a RuntimeError) with the
  /// operation, the time until it failed, and the text of `error`. If this function made `error`,
  /// returns `error` itself.
  std::exception_ptr failed(const std::exception_ptr& error) const;

  /// Returns such an error whose sentence ends with `what`.
  std::exception_ptr failed(const std::string& what) const;
};

/// Returns an operation of `group`. Its group name is the user's description of the group or,
/// without one, the name in `options`.
operation operation_of(const c10d::Backend& group, const c10d::Backend::Options& options,
                       const char* called, c10d::OpType type);

/// The reason why a group does not work in a forked child.
inline constexpr const char* in_a_fork =
    "this process is a fork of the one that made the group, whose connections it cannot use: call "
    "init_process_group here, or start processes with spawn";

}  // namespace outback::distributed
