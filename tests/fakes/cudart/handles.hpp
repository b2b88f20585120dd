// Handles that users get: numbers, not addresses, and each is used once. So one that was destroyed
// is known for ever, and a user who looks behind one meets nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace fake_cuda {

enum class handle_kind : uintptr_t {
  stream = 1,
  event,
  graph,
  exec,
  context,
  node,
  module,
  user_object
};

template <class T>
class handle_table {
 public:
  explicit handle_table(handle_kind kind) : first_((uintptr_t(kind) << 36) | 0x2a0000000000) {}

  template <class Handle>
  Handle add(std::shared_ptr<T> object) {
    const uintptr_t handle = first_ + 16 * ++count_;
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<Handle>(handle);
  }
  /// Null where it is none, or was destroyed.
  template <class Handle>
  std::shared_ptr<T> find(Handle handle) const {
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  /// Whether `handle` was once one of this table.
  template <class Handle>
  bool was(Handle handle) const {
    const auto number = reinterpret_cast<uintptr_t>(handle);
    return number > first_ && number <= first_ + 16 * count_ && number % 16 == 0;
  }
  template <class Handle>
  void erase(Handle handle) {
    objects_.erase(reinterpret_cast<uintptr_t>(handle));
  }
  const std::map<uintptr_t, std::shared_ptr<T>>& all() const { return objects_; }

 private:
  const uintptr_t first_;
  uintptr_t count_ = 0;
  std::map<uintptr_t, std::shared_ptr<T>> objects_;
};

}  // namespace fake_cuda
