// Which of the machine's devices CUDA_VISIBLE_DEVICES leaves to a process. Counting devices without
// starting CUDA needs it.
//
// CUDA reads the variable as follows, by the CUDA programming guide ("CUDA environment variables")
// and by what torch found out (torch/cuda/__init__.py, _parse_visible_devices):
// - Not set: all devices, in their order. Empty: none.
// - A list of indices, of UUIDs ("GPU-...", which may be cut short as long as one device only
//   fits), or of MIG devices ("MIG-<uuid>" or "MIG-GPU-<uuid>/<instance>/<compute instance>"). All
//   entries are of the kind of the first one.
// - The first entry that names no device ends the list; what came before counts.
// - A device that is named twice leaves no device at all.
// - Of MIG devices a process sees only one, the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend_template/runtimes/cuda/nvml.hpp"

namespace outback::cuda {

/// A part of a device in MIG mode.
struct mig_instance {
  std::string uuid;  // "MIG-..."
  unsigned gpu_instance, compute_instance;
};

/// A device of the machine, as NVML lists it.
struct machine_gpu {
  std::string uuid;      // "GPU-..."
  bool divided = false;  // in MIG mode: CUDA sees the instances only
  std::vector<mig_instance> instances = {};
};

/// Returns the UUIDs of the devices that a process sees, in CUDA's order. Returns nullopt if only
/// CUDA can tell: if a divided device takes part and the list does not name an instance. `variable`
/// is the value, or null if it is not set.
std::optional<std::vector<std::string>> visible_devices(const char* variable,
                                                        const std::vector<machine_gpu>& machine);

/// Lists all devices of the machine in NVML's order, or returns nullopt if NVML fails.
std::optional<std::vector<machine_gpu>> gpus_of_machine(const nvml& nvml);

}  // namespace outback::cuda
