// Which memory of this process is shared with others, and which memory of others it has open.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "backend_template/runtimes/host/shared_file.hpp"

namespace outback::host {

/// Memory becomes shared when it is first asked for, in place: its pages are replaced by those of a
/// file with the same content. Until then it is like any other, which is faster to get and may have
/// huge pages. May be used from any thread.
class ipc_memory {
 public:
  /// `bytes` from `allocate_pages(size)`; nobody may write to them meanwhile. Throws like
  /// shared_file, and then nothing is shared.
  outback_ipc_handle share(void* bytes, std::size_t size);

  /// Whether the next `share` will leave the pages as they are.
  bool shared(void* bytes);

  /// Makes pages that were shared private again, their content lost, so that they may be freed;
  /// nothing for others. False if the system refuses: then they must not be freed. Whoever has them
  /// open keeps them.
  bool unshare(void* bytes) noexcept;

  /// Where the memory is in this process, for `device`. If it is not there yet, it is mapped and
  /// `adopt(bytes, size)` says at which address callers will find it; if that throws, nothing is
  /// open. Throws outback::invalid_argument for a handle of this process, and like shared_file.
  void* open(const outback_ipc_handle& handle, int32_t device,
             const std::function<void*(void* bytes, std::size_t size)>& adopt);

  /// `base` as `open` answered it for `device`. True when it was closed as often as it was opened:
  /// it is forgotten, and the caller unmaps it. Throws outback::invalid_argument if it is not open.
  bool close(void* base, int32_t device);

 private:
  using place = std::pair<shared_file::identity, int32_t>;  // and the device

  struct opened {
    place from;
    uint64_t count;
  };

  std::mutex mutex_;
  std::atomic<std::size_t> shared_count_{0};  // of shared_; spares most frees the lock
  std::map<void*, shared_file> shared_;       // by their bytes
  std::map<void*, opened> opened_;            // by base
  std::map<place, void*> bases_;
};

}  // namespace outback::host
