// Names the test in which the process crashes, hangs or is ended: whoever reads the log of a driver
// that died wants to know in what.
#pragma once

#include <string>

namespace outback::suite {

/// What the process does from now on, "CopyTest.UnalignedRanges" say; the time limit starts anew.
/// From one thread.
void begin_guarded(const std::string& name);
/// Nothing that could take too long.
void end_guarded();

/// As long as it lives, with what `begin_guarded` named last, on stderr:
///   a signal that ends the process is told, and ends it as it would have;
///   exit(), called by somebody else than the suite, is told, and is no success (_exit() is for
///   watched.hpp to see);
///   what takes longer than the time limit is told, and the process ended, with status 1. So is,
///   before that, what takes long, where `tells_progress`.
class guard {
 public:
  explicit guard(bool tells_progress);
  ~guard();
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
};

}  // namespace outback::suite
