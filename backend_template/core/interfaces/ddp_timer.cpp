// Times on the device for DistributedDataParallel's logging of its statistics.
#include "backend_template/core/interfaces/registries.h"

#include <c10/core/Device.h>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include <array>
#include <memory>
#include <optional>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/stream.h"
#include "outback/runtime.h"

// Declared weak: the address is null in a torch that was built without distributed, and this
// library has to load there too.
namespace c10d {
[[gnu::weak]] decltype(TimerRegistry()) TimerRegistry();
}  // namespace c10d

namespace outback::core {
namespace {

// Not thread-safe: DistributedDataParallel's reducer calls it from one thread at a time.
class device_timer final : public c10d::Timer {
 public:
  explicit device_timer(c10::Device device) : device_(device.index()) {
    for (event& each : events_) each = event(OUTBACK_EVENT_TIMING);
  }

  void record(Event what) override {
    Timer::record(what);  // the host's time
    at(what).record(current_stream(device_));
  }

  // The reducer asks at the beginning of the next iteration, when there is little left to wait for.
  std::optional<int64_t> measureDifference(Event start, Event end) override {
    const event& from = at(start);
    const event& to = at(end);
    if (from.device() < 0 || to.device() < 0) return std::nullopt;
    from.synchronize();
    to.synchronize();
    const int64_t ns = from.elapsed_ns(to);
    // Then `end` was recorded in an earlier iteration, and this one did not get there.
    if (ns < 0) return std::nullopt;
    return ns;
  }

 private:
  event& at(Event what) { return events_[static_cast<size_t>(what)]; }

  c10::DeviceIndex device_;
  std::array<event, static_cast<size_t>(Event::kBackwardCommEnd) + 1> events_;
};

}  // namespace

void register_ddp_timer() {
  if (&c10d::TimerRegistry == nullptr || c10d::TimerRegistry()->Has(device_type)) return;
  c10d::TimerRegistry()->Register(device_type, [](c10::Device device) {
    return std::unique_ptr<c10d::Timer>(std::make_unique<device_timer>(device));
  });
}

}  // namespace outback::core
