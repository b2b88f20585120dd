// What the registration calls of the part `distributed`.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::distributed {

/// Registers our kernels of c10d's operators with the dispatcher. Once.
void register_sparse_kernels();

/// Adds the function that makes a group to what the sources in Python call
/// (module/_outback/_native.pyi). The classes are made at the first group, since most programs have
/// none. With the GIL held.
void define_groups(const pybind11::module_& device_module);

}  // namespace outback::distributed
