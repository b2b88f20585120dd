// Modules that a build has compiled from kernels in the dialect and packed into a library, by
// outback_add_kernels() (cmake/OutbackKernels.cmake). Where the library runs, no compiler is
// needed.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "outback/packed_module.h"
#include "outback/runtime.h"

namespace outback::kernels {

/// A kernel on one device, which lives until the process ends.
struct packed_kernel {
  outback_kernel handle;
  /// How many items each group of a launch has: exactly so many.
  uint32_t items;
};

/// Returns the kernel `name` of the packed module `module`: the name of the source without its
/// ending. The first call for a module and a device loads the first of the device's formats in
/// which the module is packed, with as many items a group as the device takes. Thread-safe; a
/// later call takes a lock and looks up two names.
///
/// Throws c10::Error if there is no such module or kernel, if no format fits the device, and if the
/// driver refuses the module; the text says which formats there are.
packed_kernel find_packed(c10::Device device, const std::string& module, const std::string& name);

}  // namespace outback::kernels
