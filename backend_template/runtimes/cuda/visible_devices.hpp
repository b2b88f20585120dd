// Which of the machine's devices CUDA_VISIBLE_DEVICES leaves to a process.
//
// What CUDA does with the variable, from the CUDA programming guide ("CUDA environment variables")
// and from what torch found out (torch/cuda/__init__.py, _parse_visible_devices):
//   - not set: all devices, in their order; empty: none;
//   - a list of indices, of UUIDs that begin with "GPU-" and may be cut where that names one device
//     only, or of MIG devices, "MIG-<uuid>" or "MIG-GPU-<uuid>/<instance>/<compute instance>"; what
//     the first entry is, all are;
//   - the first entry that names no device ends the list, which keeps what came before;
//   - a device that is named twice leaves no device at all;
//   - of MIG devices a process sees one, the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend_template/runtimes/cuda/nvml.hpp"

namespace outback::cuda {

struct mig_instance {
  std::string uuid;  // "MIG-..."
  unsigned gpu_instance, compute_instance;
};

struct machine_gpu {
  std::string uuid;      // "GPU-..."
  bool divided = false;  // in MIG mode, so that CUDA sees its instances and not the whole
  std::vector<mig_instance> instances = {};
};

/// The UUIDs of the devices that are left, in CUDA's order. None where only CUDA can tell: where a
/// divided device takes part and no instance is named. `variable` is null where it is not set.
std::optional<std::vector<std::string>> visible_devices(const char* variable,
                                                        const std::vector<machine_gpu>& machine);

/// All devices of the machine; none if NVML fails.
std::optional<std::vector<machine_gpu>> gpus_of_machine(const nvml& nvml);

}  // namespace outback::cuda
