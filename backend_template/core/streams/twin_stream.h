// Converts this backend's streams to the twin's streams, and finds the runtime's handles for them.
#pragma once

#include <c10/core/Stream.h>

#include <optional>

#include "outback/runtime.h"

namespace outback::core {

/// Returns the twin's stream for `stream`, a stream of this backend. Returns std::nullopt for a
/// stream of another device type, of a device that does not exist or has no twin, and before the
/// backend has started. Thread-safe, as is the other function.
std::optional<c10::Stream> twins_stream(const c10::Stream& stream);

/// Returns the runtime's handle for `theirs`, a stream of the twin of `device`. The runtime wraps
/// each native stream once, and the handle lives until the process ends. Throws
/// c10::NotImplementedError if the runtime does not have the group native, and what `check` throws.
outback_stream wrap(const c10::Stream& theirs, c10::DeviceIndex device);

}  // namespace outback::core
