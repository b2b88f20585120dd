// Makes torch.accelerator.Graph work on this device, from torch 2.12 on. Registration calls it.
#pragma once

namespace outback::core {

/// Registers a graph implementation, a wrapper of device_graph, with at::GraphImplRegistry. Does
/// nothing if one is registered, and on releases of torch that have no such registry. Call it after
/// the device has got its name, which is the registry's key. Makes no driver call.
void register_accelerator_graph();

}  // namespace outback::core
