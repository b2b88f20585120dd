// What a host runtime is made of, and how the environment says it.
#pragma once

#include <cstdint>

namespace outback::host {

struct host_options {
  int32_t devices = 2;
  // Bytes of each device. 0: an equal share of three quarters of the machine's memory.
  uint64_t memory_size = 0;
  // The CPU may use device memory through the same pointer. Off, for a test of code that must not
  // do so, the runtime declares it so and its memory is still the host's: nothing faults.
  bool host_addressable = true;
  // Copies and fills accept device memory that the runtime did not allocate, such as a CPU kernel's
  // result. Off, they refuse what lies outside an allocation of the device that they are told.
  bool addresses_host = true;
  // Device memory lies at addresses that fault when the CPU touches them; only the runtime's own
  // copies and fills get at it. Refused with either of the two above. For tests: a
  // process has four such runtimes, each with 128 GiB of addresses, none of which is used twice.
  bool protected_memory = false;
  // A seed, or 0: none. For tests of programs: the runtime does what the contract allows and an
  // ordinary device seldom does, so that a wait that the program forgot shows as wrong data. No
  // work runs on the calling thread; each stream's thread sleeps up to 200 us before half of its
  // pieces of work, so that streams overtake each other, and events complete some time after the
  // work before them; launches run the work of a graph in any order that its events leave open. The
  // seed decides the delays and orders, not what the system's scheduler makes of them: run a test
  // with some seeds.
  uint64_t adversarial = 0;
};

/// The most devices that a runtime may have. Torch counts them in 8 bits, one of them a sign.
inline constexpr int32_t max_devices = 64;

/// The options that these variables of the environment stand for. Unset or empty: the default.
///
///   OUTBACK_HOST_DEVICES      0 to 64
///   OUTBACK_HOST_MEMORY       bytes of each device: a number with K, M or G (powers of 1024) or
///                             nothing after it
///   OUTBACK_HOST_ADDRESSABLE  0: neither host_addressable nor addresses_host; 1: both
///   OUTBACK_HOST_PROTECTED    1: protected_memory, and neither of the two; 0: not
///   OUTBACK_HOST_ADVERSARIAL  a seed, at most 2^64 - 1; 0: off
///
/// Throws outback::invalid_argument with the variable, its value and what it may be.
host_options options_from_environment();

/// `options.memory_size`, or the share of the machine's memory that 0 stands for.
uint64_t memory_size_of(const host_options& options);

}  // namespace outback::host
