// Where a profile's pieces of work are kept until it ends; for the files of timeline/ alone.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

#include "backend_template/core/timeline/work.h"
#include "outback/runtime.h"

namespace outback::core {

/// Keeps a piece whose times are known, as far as they ever will be: `is_lost` says that the device
/// should have told its own and did not. Does nothing unless `profile` still records.
void keep(uint64_t profile, const recorded_work& done, bool is_lost = false) noexcept;

/// Keeps a piece that stands between two events, and owns these from now on.
void keep_timed(uint64_t profile, const recorded_work& enqueued, outback_event begin,
                outback_event end) noexcept;

/// Keeps that a range began within another one. Does nothing unless `profile` still records.
void keep_nesting(uint64_t profile, nested_range made) noexcept;

/// Returns an event with timing on the device that is used by nobody, or null if the runtime has
/// none to give or the profile has ended. At the first call for a device it looks at its clock.
outback_event take_event(uint64_t profile, c10::DeviceIndex device) noexcept;
/// Gives an event back that was not used after all.
void return_event(uint64_t profile, c10::DeviceIndex device, outback_event unused) noexcept;

}  // namespace outback::core
