// Reads a device argument from Python: 1, "acme", "acme:1", a torch.device or None. All functions
// that take a device from Python use this header, so that all errors are the same. Call these
// functions with the GIL held. They do not start the backend.
#pragma once

#include <c10/core/Device.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "outback/backend.h"

namespace outback::python {

/// Returns the index of the device that `device` names, checked against the number of devices.
/// None, a null handle and a name without an index mean the calling thread's current device.
/// Returns -1 for the CPU if `rules` allow it.
///
/// Throws c10::TypeError for an object of another type, c10::ValueError for a device of another
/// kind and c10::AcceleratorError for an index that does not exist (Python: TypeError, ValueError,
/// torch.AcceleratorError); the text says which values are allowed. `rules` say whether None and a
/// device without an index are allowed.
c10::DeviceIndex device_argument(pybind11::handle device, device_rules rules = {});

/// Does the same for functions in which a negative int means "change nothing", as in some functions
/// of torch.cuda: returns -1 for each negative int.
c10::DeviceIndex device_argument_or_none(pybind11::handle device);

/// Does the same without the range check for text and for a torch.device with an index. For
/// torch.load, which itself reports a missing device and names the remedy.
int64_t unchecked_device_argument(pybind11::handle device, device_rules rules);

/// Returns a new torch.device of this backend with `index`, which is not checked.
pybind11::object make_device(c10::DeviceIndex index);

}  // namespace outback::python
