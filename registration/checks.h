// The checks before a registration. The registration for Python runs these checks before its own,
// so that a failed check leaves everything unchanged.
#pragma once

#include "outback/backend.h"

namespace outback::registration {

/// Throws the same as `outback::register_backend` for these options: c10::ValueError for an invalid
/// value, c10::Error if the process has another backend already. Changes nothing, calls no slot and
/// does not need Python. Passes if this backend is registered already with the same name and
/// runtime.
void check_registrable(const backend_options& options);

}  // namespace outback::registration
