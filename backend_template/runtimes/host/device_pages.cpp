#include "backend_template/runtimes/host/device_pages.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "backend_template/runtimes/fork_count.hpp"
#include "backend_template/runtimes/pages.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#elif !defined(ASAN_POISON_MEMORY_REGION)
#define ASAN_POISON_MEMORY_REGION(begin, size) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) static_cast<void>(0)
#endif

namespace outback::host {
namespace {

// In bytes.
constexpr std::size_t largest_spare = std::size_t{32} << 20;
constexpr std::size_t most_spare = std::size_t{64} << 20;

// In bytes. The allocator asks for so much where it will use it. Larger memory may be meant to stay
// untouched.
constexpr std::size_t largest_populated = std::size_t{32} << 20;

// The advice has this number on every architecture. The headers of older systems have no name for
// it.
constexpr int madv_populate_write = 23;

// Of device_pages in this process.
std::atomic<std::size_t> open_files{0};

// A file, if this process may have one more.
std::unique_ptr<shared_file> new_file(std::size_t size) {
  rlimit files = {};
  const bool known = getrlimit(RLIMIT_NOFILE, &files) == 0;
  if (known && open_files.load(std::memory_order_relaxed) >= files.rlim_cur / 2) return {};
  try {
    auto made = std::make_unique<shared_file>(shared_kind::memory, size);
    open_files.fetch_add(1, std::memory_order_relaxed);
    return made;
  } catch (const runtime_error&) {
    return {};  // not to share is better than no memory
  }
}

// Gives the pages their memory in one call, which takes a third less than a fault for each page.
// Systems before Linux 5.14 refuse, and then each page is made when it is first touched.
void populate(void* bytes, std::size_t size) {
  if (madvise(bytes, size, madv_populate_write) != 0 && errno == ENOMEM) {
    throw out_of_memory("the host was asked for " + std::to_string(size) +
                        " bytes and has not got them");
  }
}

}  // namespace

device_pages::device_pages(std::size_t size) : size_(whole_pages(size)), forks_(fork_count()) {
  // Private pages first: the system refuses more of them than it can have, and does not count those
  // of a file.
  void* const there =
      mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (there == MAP_FAILED) {
    throw out_of_memory("the host was asked for " + std::to_string(size) +
                        " bytes and has not got them");
  }
  bytes_ = static_cast<std::byte*>(there);
  file_ = new_file(size_);
  if (file_) {
    try {
      file_->map(bytes_);
      if (size_ <= largest_populated) populate(bytes_, size_);
    } catch (...) {
      munmap(bytes_, size_);
      open_files.fetch_sub(1, std::memory_order_relaxed);
      throw;
    }
  }
  use(size);
}

device_pages::~device_pages() {
  use(size_);
  munmap(bytes_, size_);
  if (file_) open_files.fetch_sub(1, std::memory_order_relaxed);
}

void device_pages::use(std::size_t size) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(bytes_, size);
  ASAN_POISON_MEMORY_REGION(bytes_ + size, size_ - size);
  static_cast<void>(size);
}

bool device_pages::are_the_parents() const noexcept {
  return forks_ != fork_count();
}

outback_ipc_handle device_pages::share(std::size_t size) {
  // The parent would not know of it, and reuse the pages.
  if (are_the_parents()) {
    throw runtime_error(OUTBACK_INTERNAL,
                        "the memory is of the process that forked this one, and only that process "
                        "can share it");
  }
  if (!file_) {
    throw runtime_error(
        OUTBACK_INTERNAL,
        "the memory has no file that another process could open: when it was allocated, the "
        "process had half of the files open that it may have, or the system made none. Allow more "
        "files (ulimit -n), or share what is allocated earlier");
  }
  // First, so that the pages never become another allocation's while a handle of them exists.
  shared_.store(true, std::memory_order_relaxed);
  return file_->handle(size);
}

bool device_pages::are_of(const shared_file::identity& file) const noexcept {
  return file_ && file_->id() == file;
}

std::unique_ptr<device_pages> spare_pages::take(std::size_t size) {
  {
    const std::lock_guard lock(mutex_);
    forget_the_parents();
    if (const auto found = spare_.find(whole_pages(size)); found != spare_.end()) {
      std::unique_ptr<device_pages> taken = std::move(found->second);
      bytes_ -= taken->size();
      spare_.erase(found);
      taken->use(size);
      return taken;
    }
  }
  return std::make_unique<device_pages>(size);
}

void spare_pages::give(std::unique_ptr<device_pages> pages) noexcept {
  if (pages->shared() || pages->are_the_parents() || pages->size() > largest_spare) return;
  const std::lock_guard lock(mutex_);
  forget_the_parents();
  if (bytes_ + pages->size() > most_spare) return;
  pages->use(0);
  try {
    const std::size_t size = pages->size();
    spare_.emplace(size, std::move(pages));
    bytes_ += size;
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then they go back
  }
}

void spare_pages::forget_the_parents() noexcept {
  if (const uint32_t now = fork_count(); now != std::exchange(forks_, now)) {
    spare_.clear();
    bytes_ = 0;
  }
}

}  // namespace outback::host
