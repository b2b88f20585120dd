// A map of address ranges that do not overlap: the memory that a runtime knows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

namespace outback {

/// Only records ranges, and neither allocates nor frees memory. `Range` has `void* base` and
/// `std::size_t size`, in bytes and above 0. May be used from any thread: each function holds the
/// one mutex, also while it calls a function of the caller, which must not call this object.
template <class Range>
class address_ranges {
 public:
  /// Adds `given` and returns nullopt. If `given` overlaps a known range, adds nothing and returns
  /// the known range.
  std::optional<Range> add(const Range& given) {
    const std::lock_guard lock(mutex_);
    const auto* begin = static_cast<const std::byte*>(given.base);
    if (const auto there = overlapping(begin, given.size)) return there;
    by_base_.emplace(begin, given);
    return std::nullopt;
  }

  /// Removes and returns the range that begins at `base`, if it exists and `fits(range)` is true.
  /// If `fits` throws, the range stays.
  template <class Fits>
  std::optional<Range> take_if(const void* base, const Fits& fits) {
    const std::lock_guard lock(mutex_);
    const auto found = by_base_.find(static_cast<const std::byte*>(base));
    if (found == by_base_.end() || !fits(found->second)) return std::nullopt;
    return by_base_.extract(found).mapped();
  }
  std::optional<Range> take(const void* base) {
    return take_if(base, [](const Range&) { return true; });
  }
  /// Removes and returns some range, or returns nullopt when none is left.
  std::optional<Range> take_any() {
    const std::lock_guard lock(mutex_);
    if (by_base_.empty()) return std::nullopt;
    return by_base_.extract(by_base_.begin()).mapped();
  }

  /// Returns the range that `ptr` points into, at its beginning or inside.
  std::optional<Range> find(const void* ptr) const { return find_overlapping(ptr, 1); }
  /// Returns a range that overlaps the `size` bytes from `ptr` on. `size` is at least 1.
  std::optional<Range> find_overlapping(const void* ptr, std::size_t size) const {
    const std::lock_guard lock(mutex_);
    return overlapping(static_cast<const std::byte*>(ptr), size);
  }
  /// Returns the range that contains all `size` bytes from `ptr` on.
  std::optional<Range> find_around(const void* ptr, std::size_t size) const {
    const auto found = find(ptr);
    return found && size <= found->size - offset(*found, ptr) ? found : std::nullopt;
  }
  /// Returns whether `fits(range)` is true for any range. Checks one range after another.
  template <class Fits>
  bool any(const Fits& fits) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(by_base_.begin(), by_base_.end(),
                       [&](const auto& each) { return fits(each.second); });
  }
  /// Returns how many bytes of `range` are before `ptr`, which points into it.
  static std::size_t offset(const Range& range, const void* ptr) {
    return std::size_t(static_cast<const std::byte*>(ptr) -
                       static_cast<const std::byte*>(range.base));
  }

  /// Calls `body(range)` for each range, while no range can be added or removed. If `body` throws,
  /// calls `undo(range)` for the ranges for which `body` has succeeded, and rethrows. So `body`
  /// takes effect for all ranges or for none.
  template <class Body, class Undo>
  void for_each_or_none(const Body& body, const Undo& undo) const {
    const std::lock_guard lock(mutex_);
    auto it = by_base_.begin();
    try {
      for (; it != by_base_.end(); ++it) body(it->second);
    } catch (...) {
      while (it != by_base_.begin()) undo((--it)->second);
      throw;
    }
  }

 private:
  // The caller holds mutex_. The known ranges are sorted by their first byte and do not overlap. So
  // only two of them can overlap `size` bytes from `begin` on: the last range that begins at or
  // before `begin`, and the next range.
  std::optional<Range> overlapping(const std::byte* begin, std::size_t size) const {
    const auto next = by_base_.upper_bound(begin);
    if (next != by_base_.begin()) {
      const Range& before = std::prev(next)->second;
      if (offset(before, begin) < before.size) return before;
    }
    if (next != by_base_.end() && std::size_t(next->first - begin) < size) return next->second;
    return std::nullopt;
  }

  mutable std::mutex mutex_;
  std::map<const std::byte*, Range> by_base_;
};

}  // namespace outback
