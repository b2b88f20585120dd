#include "backend_template/runtimes/host/ipc_event.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>

#include "backend_template/runtimes/host/page_memory.hpp"
#include "outback/runtime_error.hpp"

namespace outback::host {
namespace {
// So many recordings may be under way at once. A recording whose place is still taken waits on its
// stream for the one that has it. That one was recorded before, so such waits form no circle.
constexpr std::size_t places = 256;
}  // namespace

struct ipc_event::state {
  std::atomic<uint64_t> last;                      // number of the last recording; 0: none yet
  std::atomic<uint32_t> changes;                   // counts the writes to `done`; the futex
  std::array<std::atomic<uint64_t>, places> done;  // recording n is done if [n % places] >= n
};
// Only lock-free atomics work between processes.
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

ipc_event::ipc_event()
    : file_(shared_kind::event, sizeof(state)), state_(static_cast<state*>(file_.map())) {}

ipc_event::ipc_event(const outback_ipc_handle& handle)
    : file_(shared_kind::event, handle),
      state_(file_.size() == sizeof(state)
                 ? static_cast<state*>(file_.map())
                 : throw invalid_argument("the handle is of another version's event")) {}

ipc_event::~ipc_event() {
  munmap(state_, whole_pages(file_.size()));
}

// Other processes wait for a number as soon as it is taken. So it is taken only once nothing can
// fail any more: completing it after a failure might block the caller.
void ipc_event::record(stream& where) {
  uint64_t last = state_->last.load();
  // With a taken place `complete` would block, and the calling thread must not.
  const bool place_is_free = last < places || done(last + 1 - places);
  bool recorded = false;
  const auto record_now = [&] {
    recorded = state_->last.compare_exchange_strong(last, last + 1);
    if (recorded) complete(last + 1);
  };
  if (place_is_free && where.try_run(record_now) && recorded) return;
  const auto number = std::make_shared<uint64_t>(0);
  where.enqueue_uncaptured([self = shared_from_this(), number] { self->complete(*number); },
                           "recording an event of several processes",
                           [&] { *number = state_->last.fetch_add(1) + 1; });
}

void ipc_event::wait(stream& waiting) {
  const uint64_t last = state_->last.load();
  if (done(last)) return;
  waiting.enqueue([self = shared_from_this(), last] { self->wait_for(last); });
}

bool ipc_event::query() const {
  return done(state_->last.load());
}

void ipc_event::sync() const {
  wait_for(state_->last.load());
}

bool ipc_event::done(uint64_t recording) const {
  return state_->done[recording % places].load(std::memory_order_acquire) >= recording;
}

void ipc_event::wait_for(uint64_t recording) const {
  for (;;) {
    // Read before `done` is asked: a completion in between changes the value, and FUTEX_WAIT
    // returns at once.
    const uint32_t before = state_->changes.load();
    if (done(recording)) return;
    syscall(SYS_futex, &state_->changes, FUTEX_WAIT, before, nullptr, nullptr, 0);
  }
}

void ipc_event::complete(uint64_t recording) const {
  // The place must be free, or a number that others wait for would be overwritten. The stored
  // numbers only grow, so `done` stays true for older recordings.
  if (recording > places) wait_for(recording - places);
  state_->done[recording % places].store(recording, std::memory_order_release);
  state_->changes.fetch_add(1);
  syscall(SYS_futex, &state_->changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace outback::host
