// Entries in torch's registries: the device's clock and its timeline for the profiler, a timer for
// DistributedDataParallel, and graphs for torch.accelerator. Registration calls all four functions.
#pragma once

namespace outback::core {

/// Registers the clock with torch::profiler::impl::registerPrivateUse1Methods. Call it once per
/// process. Makes no driver call.
void register_profiler();

/// Registers a profiler of the device's work (timeline/) with kineto, torch's recorder. Does
/// nothing in a torch that was built without kineto. Call it once per process. Makes no driver
/// call.
void register_timeline();

/// Registers a timer that uses the device's events with c10d::TimerRegistry. Without one,
/// DistributedDataParallel warns and logs no times. Does nothing if another library has registered
/// a timer for the device type, and in a torch that was built without distributed. Makes no driver
/// call.
void register_ddp_timer();

/// Makes torch.accelerator.Graph work on this device, from torch 2.12 on
/// (graphs/accelerator_graph.cpp): registers a graph implementation, a wrapper of device_graph,
/// with at::GraphImplRegistry. Does nothing if an implementation is registered already, and on
/// releases of torch without this registry. Call it after the device has got its name, which is the
/// registry's key. Makes no driver call.
void register_accelerator_graph();

}  // namespace outback::core
