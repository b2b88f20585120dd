// torch.accelerator.Graph on this device.
#pragma once

namespace outback::core {

/// Tells torch how graphs are captured here, on the releases that ask. Once, after the device has
/// its name; makes no driver call.
void register_accelerator_graph();

}  // namespace outback::core
