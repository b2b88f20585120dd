// OUTBACK_REPORT_LEAKS=1: what is still allocated when the process ends, on stderr.
#pragma once

namespace outback::core {

/// Whether the environment wants the report. Throws c10::ValueError for what is neither 0 nor 1.
bool read_leak_report();

/// What the registration has read.
void want_leak_report(bool wanted) noexcept;

/// Asks for the report, where it is wanted. The first call counts.
void report_leaks_at_exit();

}  // namespace outback::core
