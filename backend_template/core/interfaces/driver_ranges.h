// torch's ranges, of record_function and of operators, in the tools of the driver (the group ranges
// of outback/runtime.h).
#pragma once

namespace outback::core {

/// Returns true if the runtime has the group.
bool has_driver_ranges() noexcept;

/// Opens a range of the calling thread's. Returns false if the driver refuses it or has no ranges;
/// then there is none, and the program goes on.
bool push_driver_range(const char* name) noexcept;
/// Closes the calling thread's latest range.
void pop_driver_range() noexcept;
/// Marks a moment. Without the group it does nothing.
void mark_for_driver(const char* name) noexcept;

/// From now on, until the matching `end_driver_ranges`, each range of record_function's that begins
/// on any thread is one of the driver's too; with `operators`, each operator as well. Calls may be
/// nested: each range is there once. Throws c10::NotImplementedError without the group.
void begin_driver_ranges(bool operators);
void end_driver_ranges(bool operators) noexcept;

}  // namespace outback::core
