// The checks before a registration. The registration for Python runs them before its own checks, so
// that nothing has changed when one of them fails.
#pragma once

#include "outback/backend.h"

namespace outback::registration {

/// Throws what `outback::register_backend` would throw for these options: c10::ValueError for a
/// value that cannot be, c10::Error if the process has another backend already. Changes nothing,
/// calls no slot and does not need Python. Passes if this backend is registered already with the
/// same name and runtime.
void check_registrable(const backend_options& options);

}  // namespace outback::registration
