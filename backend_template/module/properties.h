// The properties of a device as a Python object. Internal to module/.
#pragma once

#include <pybind11/pybind11.h>

#include "backend_template/core/devices/device.h"

namespace outback::python {

/// What torch.<name>.get_device_properties returns: the fields of torch.cuda's that every device
/// may have. `info` is a copy, so the object can be used in a forked child, where torch.compile's
/// workers run and where the device may not be asked.
struct device_properties {
  int index;
  outback_device_info info;
};

/// Asks the device, and starts the backend for it. Throws c10::AcceleratorError for an index out of
/// range, and the error of a failed slot.
device_properties properties_of(c10::DeviceIndex index);

}  // namespace outback::python
