// What a Python caller may write where a device is expected: 1, "acme", "acme:1", torch.device or
// None.
#pragma once

#include <c10/core/Device.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "outback/backend.h"

namespace outback::python {

/// The index that `device` names, checked against the number of devices; -1 for the CPU where
/// `rules` allow it. Throws c10::TypeError, c10::ValueError or c10::AcceleratorError that say what
/// was expected.
c10::DeviceIndex device_argument(pybind11::handle device, device_rules rules = {});

/// The same for where torch.cuda takes a negative int as "leave it as it is": -1 then.
c10::DeviceIndex device_argument_or_none(pybind11::handle device);

/// The same without the range check of text and of a torch.device, for torch.load: it reports a
/// missing device itself, and names the remedy.
int64_t unchecked_device_argument(pybind11::handle device, device_rules rules);

/// A new torch.device.
pybind11::object make_device(c10::DeviceIndex index);

}  // namespace outback::python
