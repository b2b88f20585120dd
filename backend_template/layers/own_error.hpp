// Whose text `last_error` answers: a layer's own, or that of the table below it.
#pragma once

#include "outback/runtime.h"

namespace outback::layers::own_error {

/// Keeps the text of the exception in flight for this thread, as the last error of `layer` and of
/// the layers above it, and answers its status. Only inside a catch clause.
outback_status keep_exception(const void* layer) noexcept;

/// The last failure of `layer` on this thread was not its own.
void forget(const void* layer) noexcept;

/// Null unless the last failure of `layer` on this thread was its own. Valid until this thread's
/// next failure.
const char* text_of(const void* layer) noexcept;

}  // namespace outback::layers::own_error
