// The driver's own objects, for kernels and libraries that take them.
#pragma once

#include <c10/core/Stream.h>

#include "backend_template/core/streams/event.h"

namespace outback::core {

/// What the driver calls the device, the context of its objects, the stream or the event (a
/// cudaStream_t, say): borrowed, valid as long as what it was asked of. An event has none before it
/// is recorded, which throws. Throws c10::NotImplementedError without the runtime's group native.
void* native_device(c10::DeviceIndex device);
void* native_context(c10::DeviceIndex device);
void* native_stream(const c10::Stream& stream);
void* native_event(const event& recorded);

/// A stream of the driver's that somebody else made, and keeps alive, as one of torch's. The same
/// handle is the same stream each time. Work that others put there is not seen: whatever has to
/// wait for such a stream asks the driver.
c10::Stream wrap_native_stream(c10::DeviceIndex device, void* handle);

}  // namespace outback::core
