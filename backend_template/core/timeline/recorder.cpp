#include "backend_template/core/timeline/recorder.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/timeline/device_clock.h"
#include "backend_template/core/timeline/timeline.h"

namespace outback::core {
namespace {

// A profile that nobody stops keeps this many pieces, some hundred megabytes, and then no more.
constexpr size_t most_pieces = size_t{1} << 20;
// With so many pieces that have events, those that are done are read, and their events used again.
constexpr size_t first_read_at = 1024;

struct timed_work {
  recorded_work what;
  outback_event begin, end;
};

struct recorder {
  std::mutex mutex;
  std::condition_variable is_quiet;
  uint64_t last = 0;     // number of a profile
  uint64_t profile = 0;  // that records, or 0
  int busy = 0;          // threads that use the clocks or hold pieces, without the lock
  size_t pieces = 0;
  size_t read_at = first_read_at;  // grows with the pieces that are not done
  uint64_t lost = 0;
  std::vector<recorded_work> done;
  std::vector<timed_work> timed;
  std::vector<recorded_work> told;  // read, with the device's own times
  std::vector<nested_range> nested;
  std::array<std::vector<outback_event>, max_devices> spare;
  std::array<bool, max_devices> has_clock{};
  std::array<device_clock, max_devices> clocks;
};

// Never destroyed: threads may be in it when the process ends.
recorder& the_recorder() {
  static auto& made = *new recorder;
  return made;
}

// With the lock.
bool has_room_in(recorder& to) {
  if (to.pieces < most_pieces) {
    ++to.pieces;
    return true;
  }
  ++to.lost;
  return false;
}

// Reads the events of a piece that is done. False if the runtime does not tell.
bool read_times(const recorder& from, timed_work& piece) {
  const device_clock& clock = from.clocks[static_cast<size_t>(piece.what.device)];
  if (!clock.is_started()) return false;
  const auto begin = clock.since_start(piece.begin);
  const auto length = elapsed_between(piece.begin, piece.end);
  if (!begin || !length) return false;
  piece.what.device_begin = *begin;
  piece.what.device_end = *begin + std::max<int64_t>(*length, 0);
  return true;
}

bool has_run(const timed_work& piece) {
  return runtime().events->query(runtime().self, piece.what.device, piece.end) == OUTBACK_OK;
}

// With the lock, which it gives up meanwhile.
void read_those_done(recorder& of, std::unique_lock<std::mutex>& lock) {
  std::vector<timed_work> all = std::exchange(of.timed, {});
  ++of.busy;
  lock.unlock();
  const auto waiting = std::partition(all.begin(), all.end(), has_run);
  const auto lost = std::partition(all.begin(), waiting,
                                   [&](timed_work& piece) { return read_times(of, piece); });
  lock.lock();
  // Only now: whatever happens below, `stop_recording` finds all pieces or none.
  try {
    for (auto each = all.begin(); each != lost; ++each) of.told.push_back(each->what);
    for (auto each = lost; each != waiting; ++each) of.done.push_back(each->what);
    for (auto each = all.begin(); each != waiting; ++each) {
      auto& spare = of.spare[static_cast<size_t>(each->what.device)];
      spare.insert(spare.end(), {each->begin, each->end});
    }
    of.timed.insert(of.timed.end(), waiting, all.end());
    of.lost += static_cast<uint64_t>(waiting - lost);
  } catch (const std::bad_alloc&) {
    of.lost += all.size();
  }
  of.read_at = std::max(first_read_at, 2 * of.timed.size());
  --of.busy;
  of.is_quiet.notify_all();
}

template <class Piece>
void add_to(recorder& to, std::vector<Piece>& list, const Piece& made) {
  if (!has_room_in(to)) return;
  try {
    list.push_back(made);
  } catch (const std::bad_alloc&) {
    ++to.lost;
  }
}

}  // namespace

void keep(uint64_t profile, const recorded_work& done, bool is_lost) noexcept {
  recorder& to = the_recorder();
  const std::lock_guard lock(to.mutex);
  if (to.profile != profile) return;
  add_to(to, to.done, done);
  to.lost += is_lost ? 1 : 0;
}

void keep_nesting(uint64_t profile, nested_range made) noexcept {
  recorder& to = the_recorder();
  const std::lock_guard lock(to.mutex);
  if (to.profile == profile) add_to(to, to.nested, made);
}

void keep_timed(uint64_t profile, const recorded_work& enqueued, outback_event begin,
                outback_event end) noexcept {
  recorder& to = the_recorder();
  {
    std::unique_lock lock(to.mutex);
    if (to.profile == profile && has_room_in(to)) {
      try {
        to.timed.push_back({enqueued, begin, end});
        if (to.timed.size() >= to.read_at) read_those_done(to, lock);
        return;
      } catch (const std::bad_alloc&) {
        ++to.lost;
      }
    }
  }
  destroy_timed_event(enqueued.device, begin);
  destroy_timed_event(enqueued.device, end);
}

outback_event take_event(uint64_t profile, c10::DeviceIndex device) noexcept {
  recorder& from = the_recorder();
  const auto index = static_cast<size_t>(device);
  {
    std::unique_lock lock(from.mutex);
    if (from.profile != profile) return nullptr;
    if (!std::exchange(from.has_clock[index], true)) {
      ++from.busy;
      lock.unlock();
      from.clocks[index].start(device);
      lock.lock();
      --from.busy;
      from.is_quiet.notify_all();
    }
    std::vector<outback_event>& spare = from.spare[index];
    if (!spare.empty()) {
      const outback_event taken = spare.back();
      spare.pop_back();
      return taken;
    }
  }
  return make_timed_event(device);
}

void return_event(uint64_t profile, c10::DeviceIndex device, outback_event unused) noexcept {
  if (unused == nullptr) return;
  recorder& to = the_recorder();
  {
    const std::lock_guard lock(to.mutex);
    try {
      if (to.profile == profile) {
        to.spare[static_cast<size_t>(device)].push_back(unused);
        return;
      }
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    }
  }
  destroy_timed_event(device, unused);
}

uint64_t start_recording() noexcept {
  if (is_in_bad_fork()) return 0;
  recorder& with = the_recorder();
  const std::lock_guard lock(with.mutex);
  if (with.profile != 0 || with.busy != 0) return 0;
  with.profile = ++with.last;
  detail::profile_now.store(with.profile, std::memory_order_release);
  return with.profile;
}

namespace {

// What a profile leaves in the recorder, which begins anew.
struct leavings {
  std::vector<recorded_work> done, told;
  std::vector<nested_range> nested;
  std::vector<timed_work> timed;
  std::array<std::vector<outback_event>, max_devices> spare;
  std::array<bool, max_devices> has_clock{};
  uint64_t lost = 0;
};

leavings take_leavings(recorder& from) {
  leavings taken{std::exchange(from.done, {}),
                 std::exchange(from.told, {}),
                 std::exchange(from.nested, {}),
                 std::exchange(from.timed, {}),
                 std::exchange(from.spare, {}),
                 from.has_clock,
                 from.lost};
  from.has_clock.fill(false);
  from.pieces = 0;
  from.read_at = first_read_at;
  from.lost = 0;
  from.profile = 0;
  detail::profile_now.store(0, std::memory_order_release);
  return taken;
}

void read_rest(const recorder& of, leavings& left) {
  left.told.reserve(left.told.size() + left.timed.size());
  for (timed_work& piece : left.timed) {
    const c10::DeviceIndex device = piece.what.device;
    const auto wait = [&] { return runtime().events->sync(runtime().self, device, piece.end); };
    if ((has_run(piece) || unlocked(wait) == OUTBACK_OK) && read_times(of, piece)) {
      left.told.push_back(piece.what);
    } else {
      left.done.push_back(piece.what);
      ++left.lost;
    }
    destroy_timed_event(device, piece.begin);
    destroy_timed_event(device, piece.end);
  }
}

// No work begins before the host has called for it. So where a piece seems to, the device's clock
// was taken to be too early by that much.
void put_on_host_clock(const device_clock& clock, c10::DeviceIndex device,
                       std::vector<recorded_work>& told) {
  int64_t too_early = 0;
  for (recorded_work& each : told) {
    if (each.device != device) continue;
    each.device_begin = clock.on_host(each.device_begin);
    each.device_end = clock.on_host(each.device_end);
    too_early = std::max(too_early, each.host_begin - each.device_begin);
  }
  for (recorded_work& each : told) {
    if (each.device != device) continue;
    each.device_begin += too_early;
    each.device_end += too_early;
  }
}

}  // namespace

timeline stop_recording(uint64_t profile) noexcept {
  if (profile == 0 || is_in_bad_fork()) return {};
  recorder& with = the_recorder();
  leavings left;
  {
    std::unique_lock lock(with.mutex);
    if (with.profile != profile) return {};
    detail::profile_now.store(0, std::memory_order_release);
    with.is_quiet.wait(lock, [&] { return with.busy == 0; });
    left = take_leavings(with);
    ++with.busy;  // for the clocks: no profile begins before they are read
  }
  timeline all;
  try {
    read_rest(with, left);
    for (int i = 0; i < max_devices; ++i) {
      const auto index = static_cast<c10::DeviceIndex>(i);
      if (!left.has_clock[static_cast<size_t>(i)]) continue;
      device_clock& clock = with.clocks[static_cast<size_t>(i)];
      if (clock.is_started()) {
        clock.finish(index);
        put_on_host_clock(clock, index, left.told);
      }
      for (const outback_event each : left.spare[static_cast<size_t>(i)]) {
        destroy_timed_event(index, each);
      }
      clock.reset(index);
    }
    all.lost = left.lost;
    all.nested = std::move(left.nested);
    all.all = std::move(left.done);
    all.all.insert(all.all.end(), left.told.begin(), left.told.end());
  } catch (const std::bad_alloc&) {
    all.lost += left.told.size() + left.timed.size();
  }
  const std::lock_guard lock(with.mutex);
  --with.busy;
  return all;
}

void abandon_recording(uint64_t profile) noexcept {
  if (profile == 0 || is_in_bad_fork()) return;
  recorder& with = the_recorder();
  const std::lock_guard lock(with.mutex);
  if (with.profile != profile) return;
  // The events are leaked: this may be the end of the process, where the driver is gone already.
  take_leavings(with);
  if (with.busy == 0) {
    for (device_clock& each : with.clocks) each.forget();
  }
}

}  // namespace outback::core
