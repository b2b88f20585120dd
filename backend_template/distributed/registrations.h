// The functions of distributed/ that registration calls.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::distributed {

/// Registers this backend's kernels for c10d's operators with the dispatcher. Call it once.
void register_sparse_kernels();

/// Adds the function that makes a group to the functions for the Python sources
/// (module/_outback/_native.pyi). The first group defines the Python classes, since most programs
/// need no group. Call it with the GIL held.
void define_groups(const pybind11::module_& device_module);

}  // namespace outback::distributed
