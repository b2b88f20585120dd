// What is behind the fake NVML: the devices of the fake CUDA machine, and planned faults.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tests/fakes/cudart/devices.hpp"
#include "tests/fakes/cudart/faults.hpp"
#include "tests/fakes/nvml/nvml_api.h"

namespace fake_nvml {

/// A whole device or an instance of one; what an nvmlDevice_t points to.
struct device {
  fake_cuda::device_description described;
  unsigned index = 0;              // among those of its kind
  device* whole = nullptr;         // of an instance
  std::vector<device*> instances;  // of a whole device
};

struct measurements {
  unsigned gpu = 37, memory = 12;  // percent
  unsigned degrees = 41;
  unsigned milliwatts = 123456;
  unsigned megahertz = 1980;
};

/// Leaked. Whoever reads or writes it holds the lock.
struct machine {
  machine();
  std::mutex mutex;
  const fake_cuda::settings given;
  fake_cuda::faults faults;
  std::vector<device*> devices;  // in PCI order, whatever CUDA_VISIBLE_DEVICES says
  measurements measured;
  int initialised = 0;  // nvmlInit counts
};
machine& the_machine();

/// Bytes that this process has allocated with the fake CUDA runtime; 0 where it is not loaded.
unsigned long long memory_used(const device& of);

/// Thrown by bodies of `enter`.
struct failure {
  nvmlReturn_t result;
};

/// Runs `body(machine)`, as every entry point does it.
template <class Body>
nvmlReturn_t enter(const char* name, const Body& body, bool before_init = false) noexcept {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  if (const auto planned = m.faults.next(name)) return *planned;
  if (!before_init && m.initialised == 0) return NVML_ERROR_UNINITIALIZED;
  try {
    body(m);
  } catch (const failure& failed) {
    return failed.result;
  }
  return NVML_SUCCESS;
}

/// Throws NVML_ERROR_INVALID_ARGUMENT unless `handle` is one of the machine's.
device& checked(machine& m, nvmlDevice_t handle);
inline void require(bool given) {
  if (!given) throw failure{NVML_ERROR_INVALID_ARGUMENT};
}

}  // namespace fake_nvml
