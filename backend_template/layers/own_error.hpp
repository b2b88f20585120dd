// Decides which text `last_error` of a layer returns: the layer's own, for a call that the layer
// itself refused, or that of the table below, for a call that failed there.
#pragma once

#include "outback/runtime.h"

namespace outback::layers::own_error {

/// Keeps the text of the exception that is being handled as the calling thread's last error of
/// `layer`, and returns the exception's status. Layers above find the text by asking `layer`. May
/// only be called inside a catch clause.
outback_status keep_exception(const void* layer) noexcept;

/// Says that the calling thread's last failure of `layer` came from the table below.
void forget(const void* layer) noexcept;

/// Returns the text if the calling thread's last failure of `layer` was its own, otherwise null.
/// Valid until this thread's next failure.
const char* text_of(const void* layer) noexcept;

}  // namespace outback::layers::own_error
