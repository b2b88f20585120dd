// The operations of the group that have no tensors.
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/distributed/process_group.h"

namespace outback::distributed {

process_group::work process_group::barrier(const c10d::BarrierOptions& options) {
  operation what = named("barrier", c10d::OpType::BARRIER);
  // The devices are ours; Gloo would look for them among its own.
  c10d::BarrierOptions plain = options;
  plain.device.reset();
  plain.device_ids.clear();
  // Before the backend has started there is no work that the barrier is behind.
  if (!core::is_started()) return on_cpu([&] { return transport_->barrier(plain); });
  c10::Device device(core::device_type, core::current_device());
  if (options.device && options.device->type() == core::device_type && options.device->has_index())
    device = *options.device;
  if (const auto bound = getBoundDeviceId()) device = *bound;
  return run(std::move(what), loans(lanes_, device), {},
             [=, this]() { return transport_->barrier(plain); });
}

void process_group::monitoredBarrier(const c10d::BarrierOptions& options, bool all_ranks) {
  const operation what = named("monitored_barrier", c10d::OpType::BARRIER);
  issuer_.wait_until_idle();
  try {
    transport_->monitoredBarrier(options, all_ranks);
  } catch (...) {
    std::rethrow_exception(what.failed(std::current_exception()));
  }
}

}  // namespace outback::distributed
