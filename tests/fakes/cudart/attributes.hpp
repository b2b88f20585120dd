// What a device says about itself.
#pragma once

#include "tests/fakes/cudart/machine.hpp"

namespace fake_cuda {

constexpr int least_priority = 0, greatest_priority = -5;

/// Of a cudaDeviceAttr or the CUdevice_attribute of the same number. Throws for one that there is
/// not.
int attribute(const machine& m, const device& of, int which);

}  // namespace fake_cuda
