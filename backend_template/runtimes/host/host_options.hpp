// The options of a host runtime, and the environment variables that set them. Include this to make
// your own runtime in a test; read it to learn the meaning of a variable.
#pragma once

#include <cstdint>

namespace outback::host {

struct host_options {
  // The number of devices, 0 to `max_devices`.
  int32_t devices = 2;
  // The memory of each device in bytes. 0 stands for an equal share of three quarters of the
  // machine's memory.
  uint64_t memory_size = 0;
  // Whether device_info says that the CPU may use device memory through the same pointer
  // (OUTBACK_HOST_ADDRESSABLE). If false, torch's CPU kernels run over copies instead of in place.
  // The option is not enforced: the memory is still host memory, and an access does not fault.
  bool host_addressable = true;
  // Whether copies and fills accept any address as device memory, such as the result of a CPU
  // kernel (OUTBACK_ADDRESSES_HOST). If false, copies and fills refuse a range that does not lie in
  // one allocation of the given device.
  bool addresses_host = true;
  // Device memory gets addresses that fault when the CPU touches them, and only the runtime's own
  // copies and fills reach it. The runtime refuses this together with either of the two options
  // above. For tests of code that must not touch device memory. A process has 128 GiB of such
  // addresses for all its runtimes, and uses no address twice.
  bool protected_memory = false;
  // A seed, or 0 for off. For tests of programs: the runtime then behaves in ways that the contract
  // allows but an ordinary device seldom shows, so that a missing wait in the program shows as
  // wrong data.
  // - No work runs on the calling thread.
  // - Each stream's thread sleeps up to 200 microseconds before half of its pieces of work, so that
  //   streams overtake each other, and events complete some time after the work before them.
  // - A launch runs the work of a graph in any order that the graph's events leave open. The seed
  // decides delays and orders, but the system's scheduler still affects a run: run a test with
  // several seeds.
  uint64_t adversarial = 0;
  // The number of the piece of enqueued work that fails when it runs, counted from 1 over all
  // streams of the runtime; 0 for off. The count includes copies, fills, kernels, callbacks and
  // launches of graphs, in the order in which they are enqueued, but not work that is recorded in a
  // capture. A copy or a fill that fails writes nothing. The slot that enqueued the work has
  // already returned, so a later call reports the failure, once: the next sync or query of the
  // stream or of an event that was recorded after the work, or the next device_sync.
  uint64_t fail_work = 0;
};

/// The largest number of devices of a runtime. Torch keeps a device index in 8 bits with a sign
/// (c10::DeviceIndex is int8_t).
inline constexpr int32_t max_devices = 64;

/// Returns the options that these variables stand for. A variable that is unset or empty leaves the
/// default.
///
///   OUTBACK_HOST_DEVICES      0 to 64
///   OUTBACK_HOST_MEMORY       bytes of each device: a number, which K, M or G (powers of 1024) may
///                             follow
///   OUTBACK_HOST_ADDRESSABLE  0: neither host_addressable nor addresses_host; 1: both
///   OUTBACK_HOST_PROTECTED    1: protected_memory, and neither of the other two; 0: off
///   OUTBACK_HOST_ADVERSARIAL  a seed, at most 2^64 - 1; 0: off
///   OUTBACK_HOST_FAIL_WORK    the number of a piece of work, from 1; 0: off
///
/// Throws outback::invalid_argument; the text names the variable, its value and the allowed values.
host_options options_from_environment();

/// Returns the memory of each device in bytes: `options.memory_size`, or, if it is 0, the share of
/// the machine's memory in whole mebibytes, at least one mebibyte.
uint64_t memory_size_of(const host_options& options);

}  // namespace outback::host
