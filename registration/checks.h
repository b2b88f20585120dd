// The checks before a registration, for who has more of them to make.
#pragma once

#include "outback/backend.h"

namespace outback::registration {

/// Throws what `register_backend` would throw for these options, and changes nothing.
void check_registrable(const backend_options& options);

}  // namespace outback::registration
