// A small pseudo-random generator: the same seed gives the same numbers. The adversarial mode of
// the host runtime (host_options.hpp) uses it to choose delays and orders.
#pragma once

#include <cstdint>

namespace outback::host {

/// A generator with 64 bits of state, similar to splitmix64. Not safe for use by two threads at
/// once.
class randomness {
 public:
  /// Starts a sequence. Objects with different seeds, or with the same seed and another `which`,
  /// have sequences that look independent.
  randomness(uint64_t seed, uint64_t which) : state_(mixed(seed) ^ mixed(~which)) {}

  /// Returns a number from 0 to `bound` - 1. `bound` is above 0.
  uint64_t below(uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15u;
    return mixed(state_) % bound;
  }

 private:
  // The output function of splitmix64: it maps a counter to bits that look random.
  static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

}  // namespace outback::host
