#include "backend_template/runtimes/host/ipc_memory.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "backend_template/runtimes/pages.hpp"

namespace outback::host {

outback_ipc_handle ipc_memory::share(void* bytes, std::size_t size) {
  const std::lock_guard lock(mutex_);
  auto found = shared_.find(bytes);
  if (found == shared_.end()) {
    shared_file file(shared_kind::memory, size);
    // The content is in the file before the pages are exchanged, so a reader in this process sees
    // it at any time.
    file.write(bytes);
    found = shared_.emplace(bytes, std::move(file)).first;
    try {
      found->second.map(bytes);
    } catch (...) {
      shared_.erase(found);
      throw;
    }
    shared_count_.store(shared_.size(), std::memory_order_relaxed);
  }
  return found->second.handle();
}

bool ipc_memory::shared(void* bytes) {
  const std::lock_guard lock(mutex_);
  return shared_.contains(bytes);
}

bool ipc_memory::unshare(void* bytes) noexcept {
  // Relaxed is enough: the count concerns the caller only if its own memory was shared, and that
  // call came before this one.
  if (shared_count_.load(std::memory_order_relaxed) == 0) return true;
  const std::lock_guard lock(mutex_);
  const auto found = shared_.find(bytes);
  if (found == shared_.end()) return true;
  // MAP_FIXED exchanges the pages at one stroke: no other mapping can take the addresses in
  // between.
  const void* const there = mmap(bytes, whole_pages(found->second.size()), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  shared_.erase(found);
  shared_count_.store(shared_.size(), std::memory_order_relaxed);
  return there != MAP_FAILED;
}

bool ipc_memory::made(const shared_file::identity& file) {
  const std::lock_guard lock(mutex_);
  return std::any_of(shared_.begin(), shared_.end(),
                     [&](const auto& own) { return own.second.id() == file; });
}

}  // namespace outback::host
