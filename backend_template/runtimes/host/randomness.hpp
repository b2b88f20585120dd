// Numbers that look random and are the same for the same seed: what the adversarial host runtime
// decides with.
#pragma once

#include <cstdint>

namespace outback::host {

/// Not for two threads at once.
class randomness {
 public:
  /// Two objects with another seed, or another `which`, have nothing to do with each other.
  randomness(uint64_t seed, uint64_t which) : state_(mixed(seed) ^ mixed(~which)) {}

  /// 0 to `bound` - 1.
  uint64_t below(uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15u;
    return mixed(state_) % bound;
  }

 private:
  // The output function of splitmix64.
  static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

}  // namespace outback::host
