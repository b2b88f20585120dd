#include "backend_template/core/timeline/operators.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <vector>

#include "backend_template/core/timeline/device_clock.h"
#include "backend_template/core/timeline/recorder.h"
#include "backend_template/core/timeline/timeline.h"

namespace outback::core {
namespace {

struct operator_frame {
  operator_place here;
  // What the CPU does for the device in this operator, if anything: it ends with the operator.
  bool has_note = false;
  work note{};
  c10::DeviceIndex device = -1;
  c10::StreamId stream = no_stream;
  int64_t begin = 0;
};

// The frames are those of one profile: what an earlier one has left there counts for nothing.
struct operator_frames {
  uint64_t profile = 0;
  std::vector<operator_frame> all;
};
thread_local operator_frames frames;

operator_frame* innermost(uint64_t profile) {
  const bool is_there = profile != 0 && frames.profile == profile && !frames.all.empty();
  return is_there ? &frames.all.back() : nullptr;
}

// The first note of an operator stays: one over copies waits for its device too.
void note(work kind, c10::DeviceIndex device, c10::StreamId stream) {
  operator_frame* const here = innermost(detail::profile_now.load(std::memory_order_acquire));
  if (here == nullptr || here->has_note) return;
  here->has_note = true;
  here->note = kind;
  here->device = device;
  here->stream = stream;
  here->begin = host_now();
}

}  // namespace

void enter_operator(uint64_t number, bool is_range) noexcept {
  const uint64_t profile = detail::profile_now.load(std::memory_order_acquire);
  if (profile == 0) return;
  if (frames.profile != profile) {
    frames.all.clear();
    frames.profile = profile;
  }
  try {
    const uint64_t outer = frames.all.empty() ? 0 : frames.all.back().here.in_range;
    frames.all.push_back({{number, is_range ? number : outer}});
    if (is_range && outer != 0) keep_nesting(profile, {number, outer});
  } catch (const std::bad_alloc&) {
    frames.profile = 0;  // the rest of this thread's work is of no operator
  }
}

void leave_operator() noexcept {
  const uint64_t profile = detail::profile_now.load(std::memory_order_acquire);
  const operator_frame* const here = innermost(profile);
  if (here == nullptr) return;
  const operator_frame left = *here;
  frames.all.pop_back();
  if (!left.has_note) return;
  const int64_t now = host_now();
  const bool is_on_device = left.note == work::kernel_in_place;
  keep(profile, {.kind = left.note,
                 .device = left.device,
                 .stream = left.stream,
                 .bytes = 0,
                 .name = nullptr,
                 .in_operator = left.here.in_operator,
                 .in_range = left.here.in_range,
                 .thread = thread_here(),
                 .host_begin = left.begin,
                 .host_end = now,
                 .device_begin = is_on_device ? left.begin : 0,
                 .device_end = is_on_device ? now : 0});
}

void detail::note_in_place(c10::DeviceIndex device, c10::StreamId stream) noexcept {
  note(work::kernel_in_place, device, stream);
}

void detail::note_fallback(c10::DeviceIndex device) noexcept {
  note(work::fallback, device, no_stream);
}

operator_place place_here(uint64_t profile) noexcept {
  const operator_frame* const here = innermost(profile);
  return here == nullptr ? operator_place() : here->here;
}

int32_t thread_here() noexcept {
  thread_local const auto number = static_cast<int32_t>(syscall(SYS_gettid));
  return number;
}

}  // namespace outback::core
