// Keeps which memory of this process is shared with other processes. The ipc slots and mem_free
// call it.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>

#include "backend_template/runtimes/shared_file.hpp"

namespace outback::host {

/// Memory becomes shared in place, when a handle for it is first asked for: its pages are replaced
/// by those of a file with the same content. Memory that nobody asks for stays ordinary memory,
/// which is faster to get and may have huge pages. May be used from any thread.
class ipc_memory {
 public:
  /// Returns a handle for the `size` bytes at `bytes`, which come from `allocate_pages(size)`; the
  /// caller closes its descriptor. The first call for `bytes` copies the content and replaces the
  /// pages: nobody may write to them meanwhile. Throws like shared_file.
  outback_ipc_handle share(void* bytes, std::size_t size);

  /// Whether `bytes` are shared already, so that `share` will not replace their pages.
  bool shared(void* bytes);

  /// Replaces shared pages by private ones, so that the caller may free them. Their content is lost
  /// here; a process that has them open keeps it. Does nothing for memory that is not shared.
  /// Returns false if the system refuses: then the caller must not free the memory, whose pages are
  /// another process's still.
  bool unshare(void* bytes) noexcept;

  /// Whether the file is one that `share` made.
  bool made(const shared_file::identity& file);

 private:
  std::mutex mutex_;
  std::atomic<std::size_t> shared_count_{0};  // size of shared_; 0 spares mem_free the lock
  std::map<void*, shared_file> shared_;       // by address
};

}  // namespace outback::host
