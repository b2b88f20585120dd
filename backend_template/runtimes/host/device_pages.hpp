// The memory of the host runtime's devices: whole pages that belong to a file from the start, so
// that another process can map them while they are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "backend_template/runtimes/shared_file.hpp"

namespace outback::host {

/// Pages of one allocation. Its file is made with it: a copy into a file that is made later would
/// lose what other threads write meanwhile, and no lock can stop a CPU kernel.
///
/// The process may have descriptors for half of the files that it may open (RLIMIT_NOFILE). Pages
/// beyond that, and pages for which the system makes no file, are private. They are memory like any
/// other, and cannot be shared.
///
/// As long as it exists, its bytes stay where they are. A forked child shares the pages with its
/// parent, unless they are private: then it has a copy.
class device_pages {
 public:
  /// Maps at least `size` bytes, with undefined content. Throws outback::out_of_memory where the
  /// system has no memory or no addresses for them. In gcc's AddressSanitizer builds the bytes
  /// behind `size` are poisoned.
  explicit device_pages(std::size_t size);
  ~device_pages();
  device_pages(const device_pages&) = delete;
  device_pages& operator=(const device_pages&) = delete;

  /// Where the first page begins.
  std::byte* bytes() const noexcept { return bytes_; }
  /// Bytes of all pages.
  std::size_t size() const noexcept { return size_; }

  /// Returns a handle for the first `size` bytes; the caller closes its descriptor. Threads may use
  /// the memory meanwhile. Throws outback::runtime_error for private pages, for those that this
  /// process has from the one that forked it, and where the process has no descriptors left.
  outback_ipc_handle share(std::size_t size);
  /// Whether `share` has returned a handle: other processes may have the pages open for ever.
  bool shared() const noexcept { return shared_.load(std::memory_order_relaxed); }
  /// Whether the pages are those of `file`.
  bool are_of(const shared_file::identity& file) const noexcept;

 private:
  friend class spare_pages;
  // The bytes behind `size` are poisoned, and no others.
  void use(std::size_t size) noexcept;
  // Whether this is a forked child of the process that made the pages, and which may use them
  // still.
  bool are_the_parents() const noexcept;

  std::unique_ptr<shared_file> file_;  // null: the pages are private
  std::byte* bytes_ = nullptr;
  std::size_t size_;
  std::atomic<bool> shared_{false};
  const uint32_t forks_;  // fork_count() when they were made
};

/// Keeps some pages that were given back, because each new page costs a fault. As much as malloc
/// would keep: 64 MiB in all, in pieces of at most 32 MiB. May be used from any thread.
class spare_pages {
 public:
  /// Returns pages for `size` bytes: spare ones of just that many pages, or new ones. Throws as
  /// device_pages does.
  std::unique_ptr<device_pages> take(std::size_t size);
  /// Keeps the pages, or gives them back to the system. Pages that other processes may still use
  /// always go back: those that were shared, and in a forked child those of its parent.
  void give(std::unique_ptr<device_pages> pages) noexcept;

 private:
  // Forgets what a forked child has from its parent, which goes on to use the same memory. The
  // caller holds mutex_.
  void forget_the_parents() noexcept;

  std::mutex mutex_;
  std::multimap<std::size_t, std::unique_ptr<device_pages>> spare_;  // by the size of all pages
  std::size_t bytes_ = 0;                                            // of spare_
  uint32_t forks_ = 0;  // fork_count() when spare_ was last looked at
};

}  // namespace outback::host
