// A registration in two parts, for an import: Python's part runs beside the longer one of C++.
#pragma once

#include <future>

#include "outback/backend.h"

namespace outback::registration {

/// Does what `outback::register_backend` does, but for the operators. Another thread registers
/// these, which calls no slot and does not need Python. If the process may have no more threads,
/// whoever first waits for the result does. Until it is ready no tensor of the backend may be made.
///
/// Throws what register_backend throws. A second call returns the result of the first one. Not for
/// static initializers: while a library is loaded, a new thread may have to wait for the loader.
std::shared_future<void> begin(const backend_options& options);

}  // namespace outback::registration
