#include "backend_template/core/captures/capture_rollback.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace outback::core {
namespace {

struct kept {
  const capture_rollback* by;
  c10::Storage storage;
  const void* data;  // the storage's memory at the time of the copy
  std::size_t size;  // in bytes
  std::unique_ptr<std::byte[]> bytes;

  // Memory that the storage has lost may be somebody else's by now.
  bool is_valid() const noexcept { return storage.data() == data; }
};

// The copies of all captures that are open, in the order in which they were made. Never destroyed:
// a graph may be dropped while the process ends.
struct kept_by_all {
  std::mutex mutex;
  std::list<kept> copies;  // a list, so that taking some of them out cannot fail
};

kept_by_all& of_all() {
  static auto& all = *new kept_by_all;
  return all;
}

// Writes what `copy` has of the `size` bytes at `data` to `to`, which stands for them.
void write_common(const kept& copy, const void* data, std::size_t size, void* to) noexcept {
  const auto* const start = static_cast<const std::byte*>(data);
  const auto* const kept_start = static_cast<const std::byte*>(copy.data);
  const std::byte* const begin = std::max(start, kept_start);
  const std::byte* const end = std::min(start + size, kept_start + copy.size);
  if (begin >= end) return;
  std::memcpy(static_cast<std::byte*>(to) + (begin - start),
              copy.bytes.get() + (begin - kept_start), static_cast<std::size_t>(end - begin));
}

// Takes the copies of one capture out. The caller destroys them, and the storages that they keep
// alive, after it has released the lock.
std::list<kept> take(std::list<kept>& copies, const capture_rollback* by) noexcept {
  std::list<kept> taken;
  for (auto it = copies.begin(); it != copies.end();) {
    const auto next = std::next(it);
    if (it->by == by) taken.splice(taken.end(), copies, it);
    it = next;
  }
  return taken;
}

}  // namespace

void capture_rollback::keep(const c10::Storage& storage) {
  const void* const data = storage.data();
  const std::size_t size = storage.nbytes();
  if (data == nullptr || size == 0) return;
  auto& [mutex, copies] = of_all();
  const std::lock_guard<std::mutex> lock(mutex);
  // A copy of a smaller storage at the same address lacks the rest.
  const bool is_kept = std::any_of(copies.begin(), copies.end(), [&](const kept& copy) {
    return copy.by == this && copy.data == data && copy.size >= size && copy.is_valid();
  });
  if (is_kept) return;
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(size);
  std::memcpy(bytes.get(), data, size);
  // What other captures have written there is not what was there before. Where their copies
  // overlap, the earliest one has that.
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
    if (copy->is_valid()) write_common(*copy, data, size, bytes.get());
  }
  copies.push_back({this, storage, data, size, std::move(bytes)});
}

void capture_rollback::roll_back() noexcept {
  std::list<kept> mine;  // dies after the lock is released
  auto& [mutex, copies] = of_all();
  const std::lock_guard<std::mutex> lock(mutex);
  mine = take(copies, this);
  for (auto copy = mine.rbegin(); copy != mine.rend(); ++copy) {
    if (!copy->is_valid()) continue;
    void* const to = copy->storage.mutable_data();
    write_common(*copy, to, copy->size, to);
  }
}

capture_rollback::~capture_rollback() {
  std::list<kept> mine;  // dies after the lock is released
  auto& [mutex, copies] = of_all();
  const std::lock_guard<std::mutex> lock(mutex);
  mine = take(copies, this);
}

}  // namespace outback::core
