// Keeps which memory of this process is shared with other processes, and which memory of other
// processes is open here. The ipc slots and mem_free call it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "backend_template/runtimes/host/shared_file.hpp"

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

  /// Returns the address of the memory that `handle` names, for `device`, and counts that it was
  /// opened. If it is not open yet, maps it and calls `adopt(bytes, size)`, which returns the
  /// address that callers will use; if that throws, nothing is open. The lock is held during
  /// `adopt`. Throws outback::invalid_argument for memory of this process, and what shared_file
  /// throws.
  void* open(const outback_ipc_handle& handle, int32_t device,
             const std::function<void*(void* bytes, std::size_t size)>& adopt);

  /// Undoes one `open` that returned `base` for `device`. Returns true if it was the last one: then
  /// the memory is forgotten here and the caller unmaps it. Throws outback::invalid_argument if
  /// `base` is not open for `device`.
  bool close(void* base, int32_t device);

 private:
  using place =
      std::pair<shared_file::identity, int32_t>;  // the file, and the device that it was opened for

  struct opened {
    place from;
    uint64_t count;
  };

  std::mutex mutex_;
  std::atomic<std::size_t> shared_count_{0};  // size of shared_; 0 spares mem_free the lock
  std::map<void*, shared_file> shared_;       // own memory, by address
  std::map<void*, opened> opened_;            // others' memory, by the address that callers use
  std::map<place, void*> bases_;
};

}  // namespace outback::host
