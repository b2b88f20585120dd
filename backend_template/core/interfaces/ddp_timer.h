// DistributedDataParallel's statistics of time, on the device.
#pragma once

namespace outback::core {

/// Gives PyTorch's DistributedDataParallel a clock of the device's: without one its statistics
/// have no times, and it warns of that. Nothing where another library has given it one, or where
/// this torch has no distributed package.
void register_ddp_timer();

}  // namespace outback::core
