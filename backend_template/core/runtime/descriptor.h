// File descriptors that two processes share: one that this process owns, and how it takes one from
// another process. The IPC of events (core/memory/ipc.h, module/event_handle.cpp) needs both, since
// some drivers describe an event by a descriptor and not by bytes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>

namespace outback::core {

/// Owns one file descriptor of this process, or none. Closes it in the destructor. Not thread-safe.
class descriptor {
 public:
  /// Owns nothing.
  descriptor() = default;
  /// Takes ownership of `fd`. A negative number means none.
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  ~descriptor();
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  /// Swaps, so that `other` closes what this object owned before.
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  /// Returns the descriptor, which stays this object's, or a negative number if there is none.
  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

/// Says where a descriptor of one process can be found by another process on the same machine. It
/// is plain bytes, to be sent as they are.
struct descriptor_place {
  /// The owner's process id and its number for the descriptor.
  pid_t process;
  int32_t fd;
  /// The file's st_dev and st_ino. The system reuses process ids and descriptor numbers, so the
  /// receiver compares these before it trusts what it found.
  uint64_t device, inode;
};

/// Describes `fd`, an open descriptor of this process. The description is useful to others for as
/// long as this process keeps `fd` open. Throws c10::Error (RuntimeError) if fstat refuses `fd`.
descriptor_place place_of(int fd);

/// Returns a new descriptor of this process for the file that `place` describes.
///
/// It tries the system call pidfd_getfd first and /proc/<pid>/fd second. Linux allows this among
/// processes of one user that see one another (one PID namespace). Throws c10::ValueError
/// (ValueError) if the system refuses, if the other process has ended, or if it has closed the
/// descriptor.
descriptor take_from(const descriptor_place& place);

}  // namespace outback::core
