#include "backend_template/core/timeline/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/host_failure.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/timeline/device_clock.h"
#include "backend_template/core/timeline/driver_records.h"
#include "backend_template/core/timeline/timeline.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

// A profile that nobody stops keeps this many pieces, some hundred megabytes, and then no more.
constexpr size_t most_pieces = size_t{1} << 20;
// With so many pieces that have events, those that are done are read, and their events used again.
constexpr size_t first_read_at = 1024;
// After so many calls the driver's records are read: it need not keep more than 65536.
constexpr size_t records_read_after = 4096;

// Whether the driver records a device's work in the profile.
enum class driver : uint8_t { unknown, starting, records, does_not };

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
  std::array<std::atomic<driver>, max_devices> driver_of{};  // written with the lock
  std::array<bool, max_devices> goes_on{};                   // recordings that were abandoned
  std::array<driver_clock, max_devices> driver_clocks;
  std::array<std::vector<outback_record>, max_devices> records;
  std::vector<asked_work> asked;
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
  const c10::DeviceIndex device = piece.what.device;
  return keep_failure(runtime().events->query(runtime().self, device, piece.end), "events.query",
                      device);
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

bool has_records(uint64_t profile, c10::DeviceIndex device) noexcept {
  if (runtime().activity == nullptr) return false;
  recorder& with = the_recorder();
  const auto index = static_cast<size_t>(device);
  std::atomic<driver>& state = with.driver_of[index];
  const driver now = state.load(std::memory_order_acquire);
  if (now == driver::records || now == driver::does_not) return now == driver::records;
  std::unique_lock lock(with.mutex);
  if (with.profile != profile) return false;
  if (state.load(std::memory_order_relaxed) == driver::unknown) {
    state.store(driver::starting, std::memory_order_relaxed);
    const bool goes_on = std::exchange(with.goes_on[index], false);
    ++with.busy;
    lock.unlock();
    const bool is_on = with.driver_clocks[index].start(device) && start_records(device, goes_on);
    lock.lock();
    state.store(is_on ? driver::records : driver::does_not, std::memory_order_release);
    --with.busy;
    with.is_quiet.notify_all();
  }
  // Work that is enqueued before the start has returned may have no record.
  with.is_quiet.wait(lock, [&] { return state.load() != driver::starting; });
  return with.profile == profile && state.load() == driver::records;
}

uint64_t next_number() noexcept {
  static constinit std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

namespace {

bool driver_records(const recorder& of, size_t index) {
  return of.driver_of[index].load(std::memory_order_acquire) == driver::records;
}

// With the lock, which it gives up meanwhile.
void read_records(recorder& of, std::unique_lock<std::mutex>& lock) {
  for (size_t i = 0; i < max_devices; ++i) {
    if (!driver_records(of, i)) continue;
    std::vector<outback_record> some;
    uint64_t lost = 0;
    const size_t room = most_pieces - std::min(most_pieces, of.records[i].size());
    ++of.busy;
    lock.unlock();
    take_records(static_cast<c10::DeviceIndex>(i), room, some, lost);
    lock.lock();
    try {
      of.records[i].insert(of.records[i].end(), some.begin(), some.end());
    } catch (const std::bad_alloc&) {
      lost += some.size();
    }
    of.lost += lost;
    --of.busy;
    of.is_quiet.notify_all();
  }
}

}  // namespace

void keep_asked(uint64_t profile, uint64_t number, const recorded_work& enqueued) noexcept {
  recorder& to = the_recorder();
  std::unique_lock lock(to.mutex);
  if (to.profile != profile || !has_room_in(to)) return;
  try {
    to.asked.push_back({number, enqueued});
  } catch (const std::bad_alloc&) {
    ++to.lost;
    return;
  }
  if (to.asked.size() % records_read_after == 0) read_records(to, lock);
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

namespace {

// So that work which is launched past the backend is seen from the profile's begin on. On a device
// that is not in use yet, the first call of ours begins it.
void start_records_of_used_devices(uint64_t profile) {
  const outback_device_state* state = runtime().device_state;
  if (runtime().activity == nullptr || state == nullptr || !is_started()) return;
  for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
    int32_t is_active = 0;
    const bool is_known = state->is_active(runtime().self, i, &is_active) == OUTBACK_OK;
    if (is_known && is_active == 1 && !is_known_to_have_twin(i)) has_records(profile, i);
  }
}

}  // namespace

uint64_t start_recording() noexcept {
  if (is_in_bad_fork()) return 0;
  recorder& with = the_recorder();
  uint64_t profile = 0;
  {
    const std::lock_guard lock(with.mutex);
    if (with.profile != 0 || with.busy != 0) return 0;
    profile = with.profile = ++with.last;
    detail::profile_now.store(profile, std::memory_order_release);
  }
  start_records_of_used_devices(profile);
  return profile;
}

namespace {

// What a profile leaves in the recorder, which begins anew.
struct leavings {
  std::vector<recorded_work> done, told;
  std::vector<nested_range> nested;
  std::vector<timed_work> timed;
  std::array<std::vector<outback_event>, max_devices> spare;
  std::array<bool, max_devices> has_clock{};
  std::array<bool, max_devices> has_records{};
  std::array<std::vector<outback_record>, max_devices> records;
  std::vector<asked_work> asked;
  uint64_t lost = 0;
};

leavings take_leavings(recorder& from) {
  leavings taken{std::exchange(from.done, {}),
                 std::exchange(from.told, {}),
                 std::exchange(from.nested, {}),
                 std::exchange(from.timed, {}),
                 std::exchange(from.spare, {}),
                 from.has_clock,
                 {},
                 std::exchange(from.records, {}),
                 std::exchange(from.asked, {}),
                 from.lost};
  for (size_t i = 0; i < max_devices; ++i) {
    taken.has_records[i] = driver_records(from, i);
    from.driver_of[i].store(driver::unknown, std::memory_order_release);
  }
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
    const auto wait = [&] {
      return keep_failure(runtime().events->sync(runtime().self, device, piece.end), "events.sync",
                          device);
    };
    if ((has_run(piece) || unlocked(wait)) && read_times(of, piece)) {
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
template <class Clock>
void put_on_host_clock(const Clock& clock, c10::DeviceIndex device,
                       std::vector<recorded_work>& told) {
  int64_t too_early = 0;
  for (recorded_work& each : told) {
    if (each.device != device) continue;
    each.device_begin = clock.on_host(each.device_begin);
    each.device_end = clock.on_host(each.device_end);
    if (each.host_begin != 0) {
      too_early = std::max(too_early, each.host_begin - each.device_begin);
    }
  }
  for (recorded_work& each : told) {
    if (each.device != device) continue;
    each.device_begin += too_early;
    each.device_end += too_early;
  }
}

// Waits for the device's work, reads the rest of the driver's records and joins them with the
// calls.
void join_records(recorder& with, leavings& left, c10::DeviceIndex device, stream_list list,
                  timeline& all) {
  std::vector<asked_work> asked;
  std::copy_if(left.asked.begin(), left.asked.end(), std::back_inserter(asked),
               [&](const asked_work& each) { return each.what.device == device; });
  const std::vector<known_stream> streams = list(device);
  stop_records(device, streams);
  std::vector<outback_record>& records = left.records[static_cast<size_t>(device)];
  uint64_t lost = 0;
  take_records(device, most_pieces, records, lost);
  driver_clock& clock = with.driver_clocks[static_cast<size_t>(device)];
  clock.finish(device);
  joined_work joined =
      join(device, std::move(asked), std::exchange(records, {}), numbered_streams(device, streams));
  put_on_host_clock(clock, device, joined.told);
  all.all.insert(all.all.end(), joined.told.begin(), joined.told.end());
  all.all.insert(all.all.end(), joined.untold.begin(), joined.untold.end());
  all.lost += std::max(lost, joined.lost);
}

}  // namespace

timeline stop_recording(uint64_t profile, stream_list streams) noexcept {
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
    for (int i = 0; i < max_devices; ++i) {
      if (!left.has_records[static_cast<size_t>(i)]) continue;
      join_records(with, left, static_cast<c10::DeviceIndex>(i), streams, all);
    }
    all.all.insert(all.all.end(), left.done.begin(), left.done.end());
    all.all.insert(all.all.end(), left.told.begin(), left.told.end());
  } catch (const std::bad_alloc&) {
    all.lost += left.told.size() + left.timed.size() + left.asked.size();
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
  const leavings left = take_leavings(with);
  for (size_t i = 0; i < max_devices; ++i) with.goes_on[i] |= left.has_records[i];
  if (with.busy == 0) {
    for (device_clock& each : with.clocks) each.forget();
  }
}

}  // namespace outback::core
