// Where a profile's pieces of work are kept until it ends; for the files of timeline/ alone.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

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

/// Returns true if the driver records the device's work in this profile. The first call for a
/// device lets it begin.
bool has_records(uint64_t profile, c10::DeviceIndex device) noexcept;
/// Returns a number for `push_number` that no other work of the process has.
uint64_t next_number() noexcept;
/// Keeps a call whose work has a record with this number, or will have.
void keep_asked(uint64_t profile, uint64_t number, const recorded_work& enqueued) noexcept;

/// Returns true for a stream that is in a capture, and where nobody can tell.
bool is_captured(const c10::Stream& stream) noexcept;

/// Keeps that a range began within another one. Does nothing unless `profile` still records.
void keep_nesting(uint64_t profile, nested_range made) noexcept;

/// Returns an event with timing on the device that is used by nobody, or null if the runtime has
/// none to give or the profile has ended. At the first call for a device it looks at its clock.
outback_event take_event(uint64_t profile, c10::DeviceIndex device) noexcept;
/// Gives an event back that was not used after all.
void return_event(uint64_t profile, c10::DeviceIndex device, outback_event unused) noexcept;

}  // namespace outback::core
