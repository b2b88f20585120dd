// The packed kernels that the runtime's library of the backend's package brings along.
#pragma once

#include <span>

#include "outback/packed_module.h"

namespace outback::core {

/// Makes the modules known, which live until the process ends. The loader calls this once, before
/// it registers the backend; no thread may read the list then.
void set_packed_modules(std::span<const packed_module> modules) noexcept;

/// Returns the modules, none before `set_packed_modules`. Thread-safe after the registration.
std::span<const packed_module> packed_modules() noexcept;

}  // namespace outback::core
