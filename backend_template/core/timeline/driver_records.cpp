#include "backend_template/core/timeline/driver_records.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/host_failure.h"
#include "backend_template/core/runtime/interpreter_lock.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/timeline/device_clock.h"
#include "backend_template/core/timeline/recorder.h"
#include "outback/answer_check.hpp"

namespace outback::core {
namespace {

constexpr int looks = 4;

const outback_activity& activity() {
  return *runtime().activity;
}

struct moment {
  int64_t driver, host;
};

// The quickest of a few looks counts.
std::optional<moment> look(c10::DeviceIndex device) {
  std::optional<moment> best;
  int64_t narrowest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < looks; ++i) {
    constexpr int64_t unwritten = std::numeric_limits<int64_t>::min();
    int64_t now = unwritten;
    const int64_t before = host_now();
    const outback_status status = activity().clock(runtime().self, device, &now);
    const int64_t width = host_now() - before;
    if (status != OUTBACK_OK || now == unwritten) return std::nullopt;
    if (width >= narrowest) continue;
    narrowest = width;
    best = {now, before + width / 2};
  }
  return best;
}

}  // namespace

bool driver_clock::start(c10::DeviceIndex device) noexcept {
  const auto now = look(device);
  if (!now) return false;
  *this = {};
  first_driver_ = now->driver;
  first_host_ = now->host;
  return true;
}

void driver_clock::finish(c10::DeviceIndex device) noexcept {
  const auto now = look(device);
  if (now) rate_ = rate_between(now->host - first_host_, now->driver - first_driver_);
}

int64_t driver_clock::on_host(int64_t of_driver) const noexcept {
  return first_host_ + std::llround(static_cast<double>(of_driver - first_driver_) * rate_);
}

bool start_records(c10::DeviceIndex device, bool goes_on) noexcept {
  return unlocked([&] {
    // The status of the stop is ignored: the start says whether it helped.
    if (goes_on) activity().stop(runtime().self, device);
    return activity().start(runtime().self, device) == OUTBACK_OK;
  });
}

void take_records(c10::DeviceIndex device, size_t most, std::vector<outback_record>& to,
                  uint64_t& lost) noexcept {
  const auto some = std::make_unique<outback_records>();
  do {
    *some = {};
    some->struct_size = sizeof(*some);
    if (activity().read(runtime().self, device, some.get()) != OUTBACK_OK) return;
    if (!records_problem(*some).empty()) return;
    lost += some->lost;
    try {
      if (to.size() + some->count > most) throw std::bad_alloc();
      to.insert(to.end(), some->list, some->list + some->count);
    } catch (const std::bad_alloc&) {
      lost += some->count;
    }
  } while (some->count == std::size(some->list));
}

void stop_records(c10::DeviceIndex device, const std::vector<known_stream>& streams) noexcept {
  unlocked([&] {
    if (!any_capture(device)) {
      keep_failure(runtime().device_sync(runtime().self, device), "device_sync", device);
    } else if (runtime().streams != nullptr) {
      for (const known_stream& each : streams) {
        const c10::Stream stream(c10::Stream::UNSAFE, c10::Device(device_type, device), each.id);
        if (is_captured(stream)) continue;
        keep_failure(runtime().streams->sync(runtime().self, device, each.handle), "streams.sync",
                     device);
      }
    }
    // Whatever fails here leaves work without a record, which is counted.
    activity().stop(runtime().self, device);
    return activity().flush(runtime().self, device);
  });
}

bool push_number(uint64_t number) noexcept {
  return activity().push(runtime().self, number) == OUTBACK_OK;
}

void pop_number() noexcept {
  uint64_t number = 0;
  activity().pop(runtime().self, &number);
}

std::function<c10::StreamId(uint64_t)> numbered_streams(c10::DeviceIndex device,
                                                        const std::vector<known_stream>& streams) {
  std::map<uint64_t, c10::StreamId> known;
  for (const known_stream& each : streams) {
    uint64_t number = 0;
    if (activity().stream(runtime().self, device, each.handle, &number) == OUTBACK_OK) {
      known.try_emplace(number, each.id);
    }
  }
  return [known, next = first_driver_stream](uint64_t number) mutable {
    const auto [at, is_new] = known.try_emplace(number, next);
    if (is_new) ++next;
    return at->second;
  };
}

}  // namespace outback::core
