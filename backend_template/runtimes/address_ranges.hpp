// The memory that a runtime knows, as a map of address ranges that do not overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

namespace outback {

/// Keeps books; it neither allocates nor frees. `Range` has `void* base` and `std::size_t size`, in
/// bytes and above 0. May be used from any thread: each function holds one mutex, also during the
/// functions that are passed in, which may not call the object.
template <class Range>
class address_ranges {
 public:
  /// Adds `given` and returns nullopt. If it overlaps a range that is there, adds nothing and
  /// returns that one.
  std::optional<Range> add(const Range& given) {
    const std::lock_guard lock(mutex_);
    const auto* begin = static_cast<const std::byte*>(given.base);
    if (const auto there = overlapping(begin, given.size)) return there;
    by_base_.emplace(begin, given);
    return std::nullopt;
  }

  /// Removes and returns the range that begins at `base`, if there is one and `fits(range)` is
  /// true. If `fits` throws, the range stays.
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
  /// Returns the range that all `size` bytes from `ptr` on lie in.
  std::optional<Range> find_around(const void* ptr, std::size_t size) const {
    const auto found = find(ptr);
    return found && size <= found->size - offset(*found, ptr) ? found : std::nullopt;
  }
  /// Whether `fits(range)` is true for one of them. Looks at one after the other.
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

  /// Calls `body(range)` for each range, so that none comes or goes meanwhile. If it throws, calls
  /// `undo(range)` for those that it was called for before, and throws on: what is done is done for
  /// all of them or for none.
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
  // The caller holds mutex_. The ranges are sorted by their first byte and do not overlap. So only
  // the last one that begins at or before `begin`, and the one behind it, can meet the range.
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
