// Keeps a profile's pieces of work until the profile ends. Only for the files of timeline/.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>

#include "backend_template/core/timeline/work.h"
#include "outback/runtime.h"

namespace outback::core {

/// Keeps a piece whose times will not change any more. `is_lost` says that the device failed to
/// tell the times that it should have told. Does nothing unless `profile` still records.
void keep(uint64_t profile, const recorded_work& done, bool is_lost = false) noexcept;

/// Keeps a piece between two events, and takes ownership of the events.
void keep_timed(uint64_t profile, const recorded_work& enqueued, outback_event begin,
                outback_event end) noexcept;

/// Returns true if the driver records the device's work in this profile. The first call for a
/// device starts the driver's recording.
bool has_records(uint64_t profile, c10::DeviceIndex device) noexcept;
/// Returns a number for `push_number` that no other work of the process has.
uint64_t next_number() noexcept;
/// Keeps a call whose work has a record with this number, or will have.
void keep_asked(uint64_t profile, uint64_t number, const recorded_work& enqueued) noexcept;

/// Returns true for a stream in a capture, and if the state of the stream cannot be found out.
bool is_captured(const c10::Stream& stream) noexcept;

/// Keeps that a range began within another one. Does nothing unless `profile` still records.
void keep_nesting(uint64_t profile, nested_range made) noexcept;

/// Returns an unused event with timing on the device, or null if the runtime cannot make one or the
/// profile has ended. The first call for a device reads the device's clock.
outback_event take_event(uint64_t profile, c10::DeviceIndex device) noexcept;
/// Gives back an event that was not used.
void return_event(uint64_t profile, c10::DeviceIndex device, outback_event unused) noexcept;

}  // namespace outback::core
