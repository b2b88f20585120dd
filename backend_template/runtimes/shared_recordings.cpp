#include "backend_template/runtimes/shared_recordings.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>

#include "backend_template/runtimes/pages.hpp"
#include "outback/runtime_error.hpp"

namespace outback {
namespace {
// So many recordings may be under way at once. A recording whose place is still taken waits on its
// stream for the one that has it. That one was recorded before, so such waits form no circle.
constexpr std::size_t places = 256;
}  // namespace

struct shared_recordings::state {
  std::atomic<uint64_t> last;                      // number of the last recording; 0: none yet
  std::atomic<uint32_t> changes;                   // counts the writes to `done`; the futex
  std::array<std::atomic<uint64_t>, places> done;  // recording n is done if [n % places] >= n
};
// Only lock-free atomics work between processes.
static_assert(std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

shared_recordings::shared_recordings()
    : file_(shared_kind::event, sizeof(state)), state_(static_cast<state*>(file_.map())) {}

shared_recordings::shared_recordings(const outback_ipc_handle& handle)
    : file_(shared_kind::event, handle),
      state_(file_.size() == sizeof(state)
                 ? static_cast<state*>(file_.map())
                 : throw invalid_argument("the handle is of another version's event")) {}

shared_recordings::~shared_recordings() {
  munmap(state_, whole_pages(file_.size()));
}

uint64_t shared_recordings::begin() noexcept {
  return state_->last.fetch_add(1) + 1;
}

void shared_recordings::complete(uint64_t recording) noexcept {
  // The place must be free, or a number that others wait for would be overwritten. The stored
  // numbers only grow, so `done` stays true for older recordings.
  if (recording > places) wait(recording - places);
  state_->done[recording % places].store(recording, std::memory_order_release);
  state_->changes.fetch_add(1);
  syscall(SYS_futex, &state_->changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool shared_recordings::try_record() noexcept {
  uint64_t now = last();
  if (now >= places && !done(now + 1 - places)) return false;
  if (!state_->last.compare_exchange_strong(now, now + 1)) return false;
  complete(now + 1);
  return true;
}

uint64_t shared_recordings::last() const noexcept {
  return state_->last.load();
}

bool shared_recordings::done(uint64_t recording) const noexcept {
  return state_->done[recording % places].load(std::memory_order_acquire) >= recording;
}

void shared_recordings::wait(uint64_t recording) const noexcept {
  for (;;) {
    // Read before `done` is asked: a completion in between changes the value, and FUTEX_WAIT
    // returns at once.
    const uint32_t before = state_->changes.load();
    if (done(recording)) return;
    syscall(SYS_futex, &state_->changes, FUTEX_WAIT, before, nullptr, nullptr, 0);
  }
}

}  // namespace outback
