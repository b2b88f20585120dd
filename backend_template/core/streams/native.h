// The driver's own objects behind devices, streams and events, for kernels and libraries that take
// them: a cudaStream_t, a ze_context_handle_t. Include it where code leaves torch's types for the
// vendor's.
#pragma once

#include <c10/core/Stream.h>

#include "backend_template/core/streams/event.h"

namespace outback::core {

/// Return the driver's handle of the device, of the context in which the device's objects live, of
/// the stream, or of the event. Some drivers use numbers, so null may be a valid handle. A negative
/// device index means the current device.
///
/// The handle is the runtime's and valid as long as the object that it was asked of; an event's may
/// change with each recording. All four start the backend. They throw c10::NotImplementedError
/// (NotImplementedError) if the runtime does not have the group native, and what `check` throws.
/// `native_event` throws c10::Error (RuntimeError) for an event that was neither created nor
/// recorded.
void* native_device(c10::DeviceIndex device);
void* native_context(c10::DeviceIndex device);
void* native_stream(const c10::Stream& stream);
void* native_event(const event& recorded);

/// Returns a stream of torch's for `handle`, a stream of the driver's that its owner keeps alive
/// until the process ends. The same handle gives the same stream each time.
///
/// Core does not see the work that the owner puts there, so it never takes such a stream for idle:
/// whatever has to wait for it asks the driver. Throws what the functions above throw, and what
/// external_stream (stream.h) throws.
c10::Stream wrap_native_stream(c10::DeviceIndex device, void* handle);

}  // namespace outback::core
