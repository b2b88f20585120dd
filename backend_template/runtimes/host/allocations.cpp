#include "backend_template/runtimes/host/allocations.hpp"

#include <iterator>
#include <string>

#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {

std::string owner_name(int32_t device) {
  return device == OUTBACK_HOST ? "pinned host memory"
                                : "memory of device " + std::to_string(device);
}

}  // namespace

void allocations::add(const allocation& given) {
  const std::lock_guard lock(mutex_);
  by_base_.emplace(static_cast<const std::byte*>(given.base), given);
}

std::optional<allocation> allocations::add_apart(const allocation& given) {
  const std::lock_guard lock(mutex_);
  const auto* begin = static_cast<const std::byte*>(given.base);
  // Under the same lock as the insertion, so that of two threads that add overlapping ranges one is
  // refused.
  if (const auto there = overlapping(begin, given.size)) return there;
  by_base_.emplace(begin, given);
  return std::nullopt;
}

allocation allocations::take(void* base, int32_t device) {
  const std::lock_guard lock(mutex_);
  const auto found = by_base_.find(static_cast<const std::byte*>(base));
  if (found == by_base_.end()) {
    throw invalid_argument(
        "the pointer is not the beginning of an allocation: freed already, or not of this runtime");
  }
  if (found->second.device != device) {
    throw invalid_argument("the pointer is " + owner_name(found->second.device) + ", not " +
                           owner_name(device));
  }
  // Only ipc_memory knows how often the memory was opened, so mem_free must not end it.
  if (found->second.block == nullptr) {
    throw invalid_argument("the pointer is memory of another process: ipc.close_memory ends it");
  }
  const allocation taken = found->second;
  by_base_.erase(found);
  return taken;
}

std::optional<allocation> allocations::take_blockless(void* base) {
  const std::lock_guard lock(mutex_);
  const auto found = by_base_.find(static_cast<const std::byte*>(base));
  if (found == by_base_.end() || found->second.block != nullptr) return std::nullopt;
  const allocation taken = found->second;
  by_base_.erase(found);
  return taken;
}

std::optional<allocation> allocations::find(const void* ptr) const {
  const std::lock_guard lock(mutex_);
  return overlapping(static_cast<const std::byte*>(ptr), 1);
}

std::optional<allocation> allocations::find_overlapping(const void* ptr, std::size_t size) const {
  const std::lock_guard lock(mutex_);
  return overlapping(static_cast<const std::byte*>(ptr), size);
}

// The ranges are sorted by their first byte and do not overlap. So only the last one that begins at
// or before `begin`, and the one behind it, can meet the range.
std::optional<allocation> allocations::overlapping(const std::byte* begin, std::size_t size) const {
  const auto next = by_base_.upper_bound(begin);
  if (next != by_base_.begin()) {
    const allocation& before = std::prev(next)->second;
    if (std::size_t(begin - static_cast<const std::byte*>(before.base)) < before.size)
      return before;
  }
  if (next != by_base_.end() && std::size_t(next->first - begin) < size) return next->second;
  return std::nullopt;
}

bool allocations::holds(int32_t device, const void* ptr, std::size_t size) const {
  const auto found = find(ptr);
  if (!found || found->device != device) return false;
  const auto offset =
      std::size_t(static_cast<const std::byte*>(ptr) - static_cast<const std::byte*>(found->base));
  return size <= found->size - offset;
}

void* allocations::bytes_at(const void* ptr) const {
  const allocation found = find(ptr).value();
  const auto offset =
      static_cast<const std::byte*>(ptr) - static_cast<const std::byte*>(found.base);
  return static_cast<std::byte*>(found.bytes) + offset;
}

std::optional<allocation> allocations::take_any() {
  const std::lock_guard lock(mutex_);
  if (by_base_.empty()) return std::nullopt;
  const allocation taken = by_base_.begin()->second;
  by_base_.erase(by_base_.begin());
  return taken;
}

}  // namespace outback::host
