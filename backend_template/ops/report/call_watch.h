// Records the calls of operators for the operator report (call_log.h), with a callback of torch
// (ATen/record_function.h) that the dispatcher calls before and after each operator. Without a
// recording no callback is installed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace outback::ops {

/// Returns the number of the calling thread's place in the program, or 0. Called on any thread,
/// with no lock held; it may acquire the GIL.
using place_of_caller = uint32_t (*)();

/// Begins to record the operators of all threads. If `place` is given, records a place for each
/// call, also for recordings that are open already. Operators in `with_formulas` have a separate
/// entry for each set of sizes. Clears the log if no recording is open. Thread-safe, and may be
/// nested.
void begin_recording(const std::vector<std::string>& with_formulas, place_of_caller place);
/// Ends one `begin_recording`. The log stays until the next recording begins.
void end_recording();

}  // namespace outback::ops
