#include "backend_template/core/interfaces/driver_ranges.h"

#include <ATen/record_function.h>

#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {
namespace {

// The group, null where the driver has no ranges or does not work any more.
const outback_ranges* group_now() noexcept {
  return is_in_bad_fork() ? nullptr : runtime().ranges;
}

// What torch keeps of a range that is open.
struct open_range final : at::ObserverContext {};

std::unique_ptr<at::ObserverContext> range_begins(const at::RecordFunction& function) {
  return push_driver_range(function.name()) ? std::make_unique<open_range>() : nullptr;
}

// A range that ends on another thread stays open: it is its own thread's to close.
void range_ends(const at::RecordFunction& function, at::ObserverContext* opened) {
  const bool is_here = function.threadId() == at::RecordFunction::currentThreadId();
  if (opened != nullptr && is_here) pop_driver_range();
}

// Calls for a kind of range, for as many as want it.
class observed {
 public:
  explicit observed(std::unordered_set<at::RecordScope> scopes) : scopes_(std::move(scopes)) {}

  void begin() {
    const std::lock_guard lock(mutex_);
    if (users_++ != 0) return;
    handle_ =
        at::addGlobalCallback(at::RecordFunctionCallback(range_begins, range_ends).scopes(scopes_));
  }
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) at::removeCallback(handle_);
  }

 private:
  const std::unordered_set<at::RecordScope> scopes_;
  std::mutex mutex_;
  int users_ = 0;
  at::CallbackHandle handle_{};
};

observed& of_users() {
  static auto& made = *new observed({at::RecordScope::USER_SCOPE});
  return made;
}
observed& of_operators() {
  static auto& made =
      *new observed({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
  return made;
}

}  // namespace

bool has_driver_ranges() noexcept {
  return runtime().ranges != nullptr;
}

bool push_driver_range(const char* name) noexcept {
  const outback_ranges* const ranges = group_now();
  return ranges != nullptr && ranges->push(runtime().self, name) == OUTBACK_OK;
}

void pop_driver_range() noexcept {
  if (const outback_ranges* const ranges = group_now()) ranges->pop(runtime().self);
}

void mark_for_driver(const char* name) noexcept {
  if (const outback_ranges* const ranges = group_now()) ranges->mark(runtime().self, name);
}

void begin_driver_ranges(bool operators) {
  if (!has_driver_ranges()) refuse_absent("ranges", "ranges of the driver's tools");
  of_users().begin();
  if (operators) of_operators().begin();
}

void end_driver_ranges(bool operators) noexcept {
  if (operators) of_operators().end();
  of_users().end();
}

}  // namespace outback::core
