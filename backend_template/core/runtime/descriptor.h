// File descriptors: of this process, owned, and those that another process shows.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>

namespace outback::core {

/// Owns a descriptor, or none.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  ~descriptor();
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  int get() const noexcept { return fd_; }  // -1: none

 private:
  int fd_ = -1;
};

/// What another process needs to take a descriptor out of this one: where it is, and which file it
/// is of, since numbers are given again.
struct descriptor_place {
  pid_t process;
  int32_t fd;
  uint64_t device, inode;
};

/// Of `fd`, a descriptor of this process.
descriptor_place place_of(int fd);

/// A descriptor of that file for this process, by pidfd_getfd or /proc. The system allows it among
/// the processes of one user that see one another. Throws c10::ValueError where it does not, and
/// where that process has ended or has closed it.
descriptor take_from(const descriptor_place& place);

}  // namespace outback::core
