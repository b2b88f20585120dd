// Identifies the process that made an interprocess handle.
#pragma once

#include <cstdint>
#include <random>

namespace outback {

/// Returns a random number that identifies this process. The system's process numbers are not
/// suitable: they are reused, and two containers may both have a process 7. A child that is forked
/// after the first call has its parent's number. May be called from any thread.
inline uint64_t this_process() {
  static const uint64_t number = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return number;
}

}  // namespace outback
