// The holder with which Python owns a process group.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <pybind11/pybind11.h>

#include <utility>

#include "backend_template/core/runtime/interpreter_lock.h"

namespace outback::distributed {

/// Releases the GIL before it drops the group, as the holder of torch's own class does: Python may
/// drop the last reference, and the end of a group waits for threads that may need the GIL.
template <class Group>
class unlocked_holder {
 public:
  using element_type = Group;

  unlocked_holder() = default;
  explicit unlocked_holder(c10::intrusive_ptr<Group> held) : held_(std::move(held)) {}
  explicit unlocked_holder(Group* raw)
      : held_(c10::intrusive_ptr<Group>::unsafe_steal_from_new(raw)) {}
  unlocked_holder(const unlocked_holder&) = default;
  unlocked_holder(unlocked_holder&&) noexcept = default;
  unlocked_holder& operator=(const unlocked_holder&) = default;
  unlocked_holder& operator=(unlocked_holder&&) noexcept = default;
  ~unlocked_holder() {
    const core::without_interpreter_lock while_it_ends;
    held_.reset();
  }

  Group& operator*() const { return *held_; }
  Group* operator->() const { return held_.get(); }
  Group* get() const { return held_.get(); }

 private:
  c10::intrusive_ptr<Group> held_;
};

}  // namespace outback::distributed

PYBIND11_DECLARE_HOLDER_TYPE(T, outback::distributed::unlocked_holder<T>, true)
