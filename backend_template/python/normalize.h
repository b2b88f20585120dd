// Device-index normalization for Python callers.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Adds to the device module
///   _normalize_device(device=None, optional=True, allow_cpu=False), see outback::normalize_device,
///   _utils._get_device_index(device, optional=False, allow_cpu=False), by which torch.load asks
///   for an index: text and torch.device without the range check.
void define_normalization(pybind11::module_& module);

}  // namespace outback::python
