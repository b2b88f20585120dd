// What the registered backend said of itself, for the parts that come after its registration.
#pragma once

#include "outback/backend.h"

namespace outback::registration {

/// Throws what `register_backend` would throw for these options, and changes nothing. For callers
/// that have checks of their own to make before anything is registered.
void check_registrable(const backend_options& options);

/// The registered options. Only when `is_registered()`.
const backend_options& options();

}  // namespace outback::registration
