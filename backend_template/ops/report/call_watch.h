// Records the calls of operators, for the operator report (call_log.h): by a callback of torch's
// (ATen/record_function.h), which the dispatcher calls before and after each operator. While nobody
// records, there is no callback, and nothing is called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace outback::ops {

/// Returns the number of the place in the program that the calling thread is at, or 0. Called from
/// any thread, without a lock; it may acquire Python's.
using place_of_caller = uint32_t (*)();

/// Begins to record all threads' operators, with a place for each if `place` is given and for those
/// of the recordings before too. Operators named in `with_formulas` are logged apart for each set
/// of sizes. Clears the log if nobody records yet. Thread-safe, and may be nested.
void begin_recording(const std::vector<std::string>& with_formulas, place_of_caller place);
/// Ends what one `begin_recording` began. The log stays until the next one.
void end_recording();

}  // namespace outback::ops
