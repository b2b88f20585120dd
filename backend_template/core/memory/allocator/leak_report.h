// OUTBACK_REPORT_LEAKS=1: lists on stderr the memory that is still allocated when the process ends.
//
// Registration reads the variable early, so that a malformed one is refused before anything has
// changed; the report itself is registered at the first use of the allocator.
#pragma once

namespace outback::core {

/// Notes whether the variable asks for the report. Throws c10::ValueError (ValueError) for a value
/// that is neither 0 nor 1.
void read_leak_report();

/// Registers the report with std::atexit, if the variable asks for it. Only the first call has an
/// effect. Thread-safe.
void report_leaks_at_exit();

}  // namespace outback::core
