#include "backend_template/runtimes/host/ipc_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "backend_template/runtimes/host/page_memory.hpp"
#include "outback/runtime_error.hpp"

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

void* ipc_memory::open(const outback_ipc_handle& handle, int32_t device,
                       const std::function<void*(void* bytes, std::size_t size)>& adopt) {
  const shared_file file(shared_kind::memory, handle);
  const place from{file.id(), device};
  const std::lock_guard lock(mutex_);
  // By the file, not by the process's number: process numbers are used again.
  if (std::any_of(shared_.begin(), shared_.end(),
                  [&](const auto& own) { return own.second.id() == file.id(); })) {
    throw invalid_argument("the handle is of this process's own memory, which needs no opening");
  }
  if (const auto before = bases_.find(from); before != bases_.end()) {
    ++opened_.at(before->second).count;
    return before->second;
  }
  // Both entries are made first, so that nothing can fail once the memory was adopted.
  std::map<void*, opened> made;
  made.emplace(nullptr, opened{.from = from, .count = 1});
  auto entry = made.extract(made.begin());
  const auto place_of_base = bases_.emplace(from, nullptr).first;
  void* bytes = nullptr;
  try {
    bytes = file.map();
    entry.key() = place_of_base->second = adopt(bytes, file.size());
  } catch (...) {
    if (bytes != nullptr) munmap(bytes, whole_pages(file.size()));
    bases_.erase(place_of_base);
    throw;
  }
  opened_.insert(std::move(entry));
  return place_of_base->second;
}

bool ipc_memory::close(void* base, int32_t device) {
  const std::lock_guard lock(mutex_);
  const auto found = opened_.find(base);
  if (found == opened_.end()) {
    throw invalid_argument("the pointer is not one that ipc.open_memory answered: closed already?");
  }
  if (found->second.from.second != device) {
    throw invalid_argument("the memory was opened for device " +
                           std::to_string(found->second.from.second) + ", not for device " +
                           std::to_string(device));
  }
  if (--found->second.count != 0) return false;
  bases_.erase(found->second.from);
  opened_.erase(found);
  return true;
}

}  // namespace outback::host
