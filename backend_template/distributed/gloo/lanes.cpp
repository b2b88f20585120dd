#include "backend_template/distributed/gloo/lanes.h"

#include <algorithm>

#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"

namespace outback::distributed {

lanes lanes_of_devices::of(c10::DeviceIndex device) {
  const auto find = [&] {
    return std::find_if(made_.begin(), made_.end(),
                        [&](const lanes& each) { return each.away.device_index() == device; });
  };
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = find(); found != made_.end()) return *found;
  }
  // Outside of the lock, since the runtime is asked. If another thread was quicker, its lanes are
  // taken, and these go back to nobody: they are the pool's.
  const lanes made{core::pool_stream(device, true), core::pool_stream(device, true)};
  const std::lock_guard lock(mutex_);
  if (const auto found = find(); found != made_.end()) return *found;
  return made_.emplace_back(made);
}

on_stream::on_stream(const c10::Stream& stream) : before_(core::exchange_stream(stream)) {}

on_stream::~on_stream() {
  try {
    core::exchange_stream(before_);
  } catch (const std::exception&) {  // a stream that was current exists
    core::warn(core::backend_name(), ": ", core::handled_text());
  }
}

}  // namespace outback::distributed
