// Handles: numbers that are never used twice, so that a handle is known to be dead, or another
// kind's, when it comes back.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "tests/fakes/level_zero/refusal.hpp"
#include "tests/fakes/level_zero/violations.hpp"

namespace outback::software_ze {

/// The objects of one kind. `Object::handle_kind` is the kind's number, 1 to 255, and
/// `Object::noun` its name; `Handle` the header's pointer type. A handle is no address: following
/// it faults. May be used from any thread.
template <class Object, class Handle>
class handle_table {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const uint64_t bits = tag | ++last_ << 4;
    objects_.emplace(bits, std::move(object));
    return reinterpret_cast<Handle>(bits);
  }

  /// Throws refusal for a null handle, and reports a violation for one that is not alive.
  std::shared_ptr<Object> find(Handle handle) const {
    require(handle != nullptr, ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    const auto bits = reinterpret_cast<uint64_t>(handle);
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = objects_.find(bits); found != objects_.end()) return found->second;
    }
    refuse_violation(fmt::format("{:#x} is no {}{}", bits, Object::noun,
                                 (bits & tag_mask) == tag ? " any more: it was destroyed" : ""));
  }

  /// Whether the handle is of this kind, alive or not.
  static bool is_of_this_kind(const void* handle) noexcept {
    return (reinterpret_cast<uint64_t>(handle) & tag_mask) == tag;
  }

  /// Like `find`, and the handle is dead from now on.
  std::shared_ptr<Object> take(Handle handle) {
    auto object = find(handle);
    const std::lock_guard lock(mutex_);
    if (objects_.erase(reinterpret_cast<uint64_t>(handle)) == 0) {
      refuse_violation(fmt::format("a {} is destroyed by two threads", Object::noun));
    }
    return object;
  }

  std::vector<std::shared_ptr<Object>> all() const {
    const std::shared_lock lock(mutex_);
    std::vector<std::shared_ptr<Object>> objects;
    for (const auto& [bits, object] : objects_) objects.push_back(object);
    return objects;
  }

  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return objects_.size();
  }

 private:
  // Not a canonical address on x86-64 and AArch64.
  static constexpr uint64_t tag_mask = uint64_t{0xffff} << 48;
  static constexpr uint64_t tag = uint64_t{0x5a00 | Object::handle_kind} << 48;

  // The loader takes equal handles for the same object, also those of two drivers: of two copies of
  // this library, each has numbers of its own. Its address says which one it is.
  static constexpr char of_this_library = 0;
  static uint64_t first() noexcept {
    return (reinterpret_cast<uint64_t>(&of_this_library) >> 12 & 0xffff) << 28;
  }

  mutable std::shared_mutex mutex_;
  uint64_t last_ = first();
  std::unordered_map<uint64_t, std::shared_ptr<Object>> objects_;
};

}  // namespace outback::software_ze
