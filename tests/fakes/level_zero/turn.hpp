// One thread's turn at an object that has no lock of its own.
#pragma once

#include <fmt/format.h>

#include <atomic>

#include "tests/fakes/level_zero/violations.hpp"

namespace outback::software_ze {

/// Two turns at once are a violation. `what` names the object.
class turn {
 public:
  turn(std::atomic<bool>& taken, const char* what) : taken_(taken) {
    if (taken_.exchange(true)) {
      refuse_violation(fmt::format("two threads use one {} at once: {}s have no locks of their own",
                                   what, what));
    }
  }
  ~turn() { taken_.store(false); }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

 private:
  std::atomic<bool>& taken_;
};

}  // namespace outback::software_ze
