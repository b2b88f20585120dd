// Owns file descriptors, and takes them over from other processes. The IPC of events
// (core/memory/ipc.h, module/event_handle.cpp) needs both, since some drivers describe an event by
// a descriptor and not by bytes.
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
  /// Takes ownership of `fd`. With a negative number, owns nothing.
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  ~descriptor();
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  /// Swaps the two descriptors, so `other` closes the old one.
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  /// Returns the descriptor, which this object still owns, or a negative number without one.
  int get() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

/// Tells another process on the same machine where to find a descriptor of this process. Plain
/// bytes, which can be sent unchanged.
struct descriptor_place {
  /// The owner's process id and its number for the descriptor.
  pid_t process;
  int32_t fd;
  /// The file's st_dev and st_ino. The system reuses process ids and descriptor numbers, so the
  /// receiver compares these two numbers before it uses the descriptor.
  uint64_t device, inode;
};

/// Describes `fd`, an open descriptor of this process. The description is valid as long as this
/// process keeps `fd` open. Throws c10::Error (RuntimeError) if fstat refuses `fd`.
descriptor_place place_of(int fd);

/// Returns a new descriptor of this process for the file that `place` describes.
///
/// Tries the system call pidfd_getfd first and /proc/<pid>/fd second. Linux allows both among
/// processes of one user in one PID namespace. Throws c10::ValueError (ValueError) if the system
/// refuses, if the other process has ended, or if it has closed the descriptor.
descriptor take_from(const descriptor_place& place);

}  // namespace outback::core
