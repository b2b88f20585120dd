// Times on the device for DistributedDataParallel's logging of its statistics. Registration calls
// it.
#pragma once

namespace outback::core {

/// Registers a timer that uses the device's events with c10d::TimerRegistry. Without one,
/// DistributedDataParallel warns and logs no times. Does nothing if another library has registered
/// a timer for the device type, and in a torch that was built without distributed. Makes no driver
/// call.
void register_ddp_timer();

}  // namespace outback::core
