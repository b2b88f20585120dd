// Memory with an anonymous file behind it, and the handle with which another process finds that
// file. The host runtime shares memory this way, and several runtimes share events
// (shared_recordings.hpp).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "outback/runtime.h"

namespace outback {

/// The kind of object that a handle stands for. A handle of one kind cannot be opened as the other
/// kind.
enum class shared_kind : uint32_t { memory = 1, event = 2 };

/// An anonymous file (memfd_create) of a fixed size in whole pages. The file lives as long as any
/// process has a descriptor or a mapping of it. It is sealed: no process can shrink it, so a mapped
/// page cannot vanish under its reader.
///
/// An object owns one descriptor, which its destructor closes; mappings outlive the object.
/// Functions throw only if their comments say so. They may be called from any thread as long as no
/// thread moves or destroys the object.
class shared_file {
 public:
  /// Identifies the file. All descriptors of one file have the same identity, and no other file has
  /// this identity as long as one of the descriptors is open.
  struct identity {
    uint64_t device, inode;
    auto operator<=>(const identity&) const = default;
  };

  /// Makes a file of `size` bytes, filled with zeros. Throws outback::out_of_memory if memory is
  /// short, and outback::runtime_error if the process has no descriptors left.
  shared_file(shared_kind kind, std::size_t size);

  /// Opens the file that `handle` names. Throws outback::invalid_argument if `handle` is of another
  /// kind or does not name such a file, if its descriptor belongs to another file, or if the file
  /// is gone. Throws outback::runtime_error if no descriptors are left.
  ///
  /// `handle.fd` is a descriptor of the file in this process, or -1. The object duplicates the
  /// descriptor; the caller still owns and closes it. With -1 the object opens the file through
  /// /proc of the process that made the handle. The system allows this for processes of one user,
  /// as long as the other process still has its object.
  shared_file(shared_kind kind, const outback_ipc_handle& handle);

  ~shared_file();
  shared_file(shared_file&& other) noexcept;
  shared_file(const shared_file&) = delete;
  shared_file& operator=(const shared_file&) = delete;

  std::size_t size() const noexcept { return size_; }  // bytes, as asked for
  identity id() const noexcept { return id_; }

  /// Returns a handle for another process. Its `fd` is a new descriptor, which the caller must
  /// close. Throws outback::runtime_error if the process has no descriptors left.
  outback_ipc_handle handle() const { return handle(size_); }
  /// Returns the same for the first `size` bytes. `size` must end in the file's last page.
  outback_ipc_handle handle(std::size_t size) const;

  /// Maps the file's pages for reading and writing and returns their address. With null for `at`
  /// the system chooses the address; otherwise the mapping replaces the pages at `at`, which must
  /// be the beginning of a page. The caller ends the mapping with `munmap(address,
  /// whole_pages(size()))`. Throws outback::out_of_memory, or outback::runtime_error if the system
  /// refuses for another reason.
  void* map(void* at = nullptr) const;

 private:
  shared_kind kind_;
  std::size_t size_;
  identity id_;
  int fd_;
};

}  // namespace outback
