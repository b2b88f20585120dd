#include "backend_template/runtimes/cuda/host_ranges.hpp"

#include <iterator>

namespace outback::cuda {
namespace {

uintptr_t number(const void* ptr) {
  return reinterpret_cast<uintptr_t>(ptr);
}

}  // namespace

std::optional<host_range> host_ranges::add(const host_range& range) {
  const std::lock_guard lock(mutex_);
  // The ranges do not overlap. So only the one that begins at `range` or behind it, and the one
  // before that, can meet it.
  const auto next = ranges_.lower_bound(number(range.base));
  if (next != ranges_.end() && next->first - number(range.base) < range.size) return next->second;
  if (next != ranges_.begin()) {
    const host_range& before = std::prev(next)->second;
    if (number(range.base) - number(before.base) < before.size) return before;
  }
  ranges_.emplace_hint(next, number(range.base), range);
  return std::nullopt;
}

std::optional<host_range> host_ranges::take(const void* base, bool registered) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(number(base));
  // Registered memory must not be freed, nor allocated memory unregistered.
  if (found == ranges_.end() || found->second.registered != registered) return std::nullopt;
  const host_range taken = found->second;
  ranges_.erase(found);
  return taken;
}

std::optional<host_range> host_ranges::find(const void* ptr) const {
  const std::lock_guard lock(mutex_);
  const auto next = ranges_.upper_bound(number(ptr));
  if (next == ranges_.begin()) return std::nullopt;
  const host_range& before = std::prev(next)->second;
  if (number(ptr) - number(before.base) >= before.size) return std::nullopt;
  return before;
}

}  // namespace outback::cuda
