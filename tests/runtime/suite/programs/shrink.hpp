// Cuts a failing program down to what still fails.
#pragma once

#include <chrono>
#include <functional>

#include "tests/runtime/suite/programs/program.hpp"

namespace outback::suite {

/// A legal program of operations of `failing` for which `fails` is true, of which no single one can
/// be spared; or what was found when `time` was over. `fails` is asked for legal programs only.
program shrink(const program& failing, const std::function<bool(const program&)>& fails,
               std::chrono::milliseconds time);

}  // namespace outback::suite
