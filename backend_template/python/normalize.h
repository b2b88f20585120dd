// Two private functions of the device module that turn a device argument into an index.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Adds two functions to the device module:
///   _normalize_device(device=None, optional=True, allow_cpu=False), which does what
///   outback::normalize_device does;
///   _utils._get_device_index(device, optional=False, allow_cpu=False), which torch.load calls
///   (torch/serialization.py). It does not check the range, since torch.load itself does and names
///   the remedy.
void define_normalization(pybind11::module_& module);

}  // namespace outback::python
