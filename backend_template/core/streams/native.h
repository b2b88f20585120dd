// The driver's own objects behind devices, streams and events, such as a cudaStream_t or a
// ze_context_handle_t, for kernels and libraries that need them. Include this header where code
// passes from torch's types to the vendor's types.
#pragma once

#include <c10/core/Stream.h>

#include "backend_template/core/streams/event.h"

namespace outback::core {

/// Return the driver's handle of the device, of the context with the device's objects, of the
/// stream, or of the event. Some drivers use numbers as handles, so null may be a valid handle. A
/// negative device index means the current device.
///
/// The runtime owns the handle, which is valid as long as the object; the handle of an event may
/// change with each recording. All four functions start the backend. They throw
/// c10::NotImplementedError (NotImplementedError) if the runtime does not have the group native,
/// and what `check` throws. `native_event` throws c10::Error (RuntimeError) for an event that was
/// neither created nor recorded.
void* native_device(c10::DeviceIndex device);
void* native_context(c10::DeviceIndex device);
void* native_stream(const c10::Stream& stream);
void* native_event(const event& recorded);

/// Returns a c10::Stream for `handle`, a stream of the driver that its owner keeps alive until the
/// process ends. The same handle always gives the same stream.
///
/// Core does not see the work that the owner puts on the stream, so it never treats such a stream
/// as idle: waits always ask the driver. Throws what the functions above throw, and what
/// external_stream (stream.h) throws.
c10::Stream wrap_native_stream(c10::DeviceIndex device, void* handle);

}  // namespace outback::core
