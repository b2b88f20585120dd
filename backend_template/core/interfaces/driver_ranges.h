// Shows torch's ranges (of record_function and of operators) in the driver's tools, through the
// group ranges of outback/runtime.h.
#pragma once

namespace outback::core {

/// Returns true if the runtime has the group ranges.
bool has_driver_ranges() noexcept;

/// Opens a range in the calling thread. Returns false if the driver refuses the range or the
/// runtime has no group ranges; then no range is open.
bool push_driver_range(const char* name) noexcept;
/// Closes the calling thread's latest range.
void pop_driver_range() noexcept;
/// Marks a moment. Does nothing without the group ranges.
void mark_for_driver(const char* name) noexcept;

/// Until the matching `end_driver_ranges`, each range of record_function that begins on any thread
/// opens a range of the driver too; with `operators`, each operator does as well. Calls may be
/// nested: each range still appears once. Throws c10::NotImplementedError without the group.
void begin_driver_ranges(bool operators);
void end_driver_ranges(bool operators) noexcept;

}  // namespace outback::core
