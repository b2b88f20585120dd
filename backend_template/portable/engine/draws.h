// Positions of a generator for kernels that draw random numbers (portable/kernels/philox.h).
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

#include "outback/kernels/packed.h"

namespace outback::portable {

/// `draws` in portable/kernels/philox.h.
struct draws {
  uint64_t seed;
  uint64_t turn;
  int64_t count;
  int64_t threads;

  /// How many groups of the kernel the launch has.
  int64_t groups_of(const kernels::packed_kernel& kernel) const { return threads / kernel.items; }
};

/// Returns the position for a launch that draws `count` numbers, 1 or more, `values` of them a
/// turn, from `generator` or the device's default one, and moves the generator on. The numbers
/// depend on the position and the count alone, and not on the device. Locks the generator. Throws
/// what core::generator::advance throws, and c10::Error for a generator of another device.
draws take_draws(const std::optional<at::Generator>& generator, c10::DeviceIndex device,
                 int64_t count, int values);

/// Returns the probability in units of 2^-32, in which kernels compare it with random words.
uint64_t in_words(double probability);

}  // namespace outback::portable
