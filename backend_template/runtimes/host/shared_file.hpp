// Memory with a file behind it, and what another process needs to find that file.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "outback/runtime.h"

namespace outback::host {

/// What a handle is for: a handle of one kind opens nothing of another.
enum class shared_kind : uint32_t { memory = 1, event = 2 };

/// An anonymous file of a fixed size, whole pages, that lives while a descriptor or a mapping of it
/// does. It owns one descriptor. Sealed, so that nobody can take away pages that are mapped.
class shared_file {
 public:
  /// The same for all descriptors of the file, and for no other file while one of them lives.
  struct identity {
    uint64_t device, inode;
    auto operator<=>(const identity&) const = default;
  };

  /// Of zeros. Throws outback::out_of_memory, or outback::runtime_error where there are no
  /// descriptors left.
  shared_file(shared_kind kind, std::size_t size);

  /// The file that `handle` tells of. Throws outback::invalid_argument where it tells of none of
  /// this kind, or of one that is gone.
  ///
  /// `handle.fd` is a descriptor of the file in this process, and stays the caller's. Where it is
  /// -1 the file is taken from the process that made the handle, through /proc, which the system
  /// allows among the processes of one user as long as that process has not closed it.
  shared_file(shared_kind kind, const outback_ipc_handle& handle);

  ~shared_file();
  shared_file(shared_file&& other) noexcept;
  shared_file(const shared_file&) = delete;
  shared_file& operator=(const shared_file&) = delete;

  std::size_t size() const noexcept { return size_; }  // as asked for
  identity id() const noexcept { return id_; }

  /// With a descriptor of its own, which is the caller's to close. Throws outback::runtime_error
  /// where there are none left.
  outback_ipc_handle handle() const;

  /// Throws outback::out_of_memory.
  void write(const void* bytes) const;

  /// Its pages, at the address `at` or, where that is null, anywhere. What was at `at` is gone.
  /// Ends with `munmap(..., whole_pages(size()))`. Throws outback::out_of_memory.
  void* map(void* at = nullptr) const;

 private:
  shared_kind kind_;
  std::size_t size_;
  identity id_;
  int fd_;
};

}  // namespace outback::host
