// What a device says of itself, as a Python object.
#pragma once

#include <pybind11/pybind11.h>

#include "backend_template/core/devices/device.h"

namespace outback::python {

/// What torch.cuda.get_device_properties answers, as far as it means something here.
struct device_properties {
  int index;
  outback_device_info info;  // a copy: usable in a forked child, for torch.compile's workers
};

device_properties properties_of(c10::DeviceIndex index);

}  // namespace outback::python
