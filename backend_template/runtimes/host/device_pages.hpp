// The memory of the host runtime's devices: whole pages that belong to a file from the start, so
// that another process can map the pages while they are in use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "backend_template/runtimes/shared_file.hpp"

namespace outback::host {

/// The pages of one allocation. The file is made together with the pages: if the bytes were copied
/// into a file later, writes of other threads during the copy would be lost, and no lock can stop a
/// CPU kernel.
///
/// Device pages use at most half of the descriptors that the process may have (RLIMIT_NOFILE).
/// Further pages, and pages for which the system makes no file, are private: they work like other
/// memory, but cannot be shared.
///
/// The bytes stay at the same address as long as the object exists. A forked child shares the pages
/// with its parent, but has a copy of private pages.
class device_pages {
 public:
  /// Maps at least `size` bytes, with undefined content. Throws outback::out_of_memory if the
  /// system has no memory or no addresses left. In gcc's AddressSanitizer builds the bytes behind
  /// `size` are poisoned.
  explicit device_pages(std::size_t size);
  ~device_pages();
  device_pages(const device_pages&) = delete;
  device_pages& operator=(const device_pages&) = delete;

  /// Returns the address of the first page.
  std::byte* bytes() const noexcept { return bytes_; }
  /// Returns the size of all pages in bytes.
  std::size_t size() const noexcept { return size_; }

  /// Returns a handle for the first `size` bytes; the caller must close its descriptor. Threads may
  /// use the memory meanwhile. Throws outback::runtime_error for private pages, for pages that this
  /// process has from its parent by a fork, and if the process has no descriptors left.
  outback_ipc_handle share(std::size_t size);
  /// Returns whether `share` has returned a handle. If so, other processes may have the pages open
  /// from now on.
  bool shared() const noexcept { return shared_.load(std::memory_order_relaxed); }
  /// Returns whether the pages belong to `file`.
  bool are_of(const shared_file::identity& file) const noexcept;

 private:
  friend class spare_pages;
  // Tells AddressSanitizer that exactly the bytes behind `size` are poisoned.
  void use(std::size_t size) noexcept;
  // Returns whether this process is a forked child of the process that made the pages. The parent
  // may still use them.
  bool are_the_parents() const noexcept;

  std::unique_ptr<shared_file> file_;  // null: the pages are private
  std::byte* bytes_ = nullptr;
  std::size_t size_;
  std::atomic<bool> shared_{false};
  const uint32_t forks_;  // fork_count() when they were made
};

/// Keeps some freed pages for reuse, because each new page costs a page fault. Keeps as much as
/// malloc would: 64 MiB in all, in pieces of at most 32 MiB. May be used from any thread.
class spare_pages {
 public:
  /// Returns pages for `size` bytes: spare pages if there are some of exactly that size, otherwise
  /// new pages. Throws like the constructor of device_pages.
  std::unique_ptr<device_pages> take(std::size_t size);
  /// Keeps the pages, or gives them back to the system. Always gives back pages that other
  /// processes may still use: pages that were shared, and, in a forked child, pages of its parent.
  void give(std::unique_ptr<device_pages> pages) noexcept;

 private:
  // In a forked child, forgets the spare pages of the parent, which still uses that memory. The
  // caller holds mutex_.
  void forget_the_parents() noexcept;

  std::mutex mutex_;
  std::multimap<std::size_t, std::unique_ptr<device_pages>> spare_;  // by the size in bytes
  std::size_t bytes_ = 0;                                            // the total size of spare_
  uint32_t forks_ = 0;  // fork_count() at the last use of spare_
};

}  // namespace outback::host
