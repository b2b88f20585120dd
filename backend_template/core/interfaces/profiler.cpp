// The device's clock for torch's profiler: events around operators, for their times on the device.
#include "backend_template/core/interfaces/registries.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <functional>
#include <memory>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/interfaces/driver_ranges.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

const event& as_event(const ProfilerVoidEventStub& stub) {
  return *static_cast<const event*>(stub.get());
}

// torch calls it where the profiler runs without kineto, as torch.autograd.profiler.profile(
// use_kineto=False, use_device=...) does: it records an event on the current stream before and
// after each operator.
struct profiler_clock final : torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* stub,
              int64_t* cpu_ns) const override {
    const c10::Stream stream = current_stream(-1);
    auto made = std::make_shared<event>(OUTBACK_EVENT_TIMING);
    if (device != nullptr) *device = stream.device_index();
    if (cpu_ns != nullptr) *cpu_ns = c10::getTime();
    made->record(stream);
    *stub = std::move(made);
  }

  // Returns microseconds. If an operator changed the current device, its two events are of two
  // devices, and no device can tell the time between them.
  float elapsed(const ProfilerVoidEventStub* from, const ProfilerVoidEventStub* to) const override {
    const event &begin = as_event(*from), &end = as_event(*to);
    if (begin.device() != end.device()) return 0;
    begin.synchronize();
    end.synchronize();
    return static_cast<float>(begin.elapsed_ns(end)) / 1000;
  }

  // For the driver's own tools.
  void mark(const char* name) const override { mark_for_driver(name); }
  void rangePush(const char* name) const override { push_driver_range(name); }
  void rangePop() const override { pop_driver_range(); }

  bool enabled() const override { return true; }

  void onEachDevice(std::function<void(int)> op) const override {
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
      const c10::DeviceGuard guard(c10::Device(device_type, i));
      op(i);
    }
  }

  void synchronize() const override {
    // The profiler calls this also in programs that never use the device.
    if (is_started()) synchronize_device(current_device());
  }
};

}  // namespace

void register_profiler() {
  // Never destroyed: torch keeps the pointer for ever.
  static auto& clock = *new profiler_clock;
  torch::profiler::impl::registerPrivateUse1Methods(&clock);
}

}  // namespace outback::core
