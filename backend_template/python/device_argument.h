// Reads what a Python caller writes where a device is expected: 1, "acme", "acme:1", a torch.device
// or None. Everything that takes a device from Python goes through here, so that all errors are the
// same. To be called with the GIL held; starts nothing.
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
/// torch.AcceleratorError); each says what was expected. `rules` say whether None and a device
/// without an index are allowed.
c10::DeviceIndex device_argument(pybind11::handle device, device_rules rules = {});

/// The same for a function that takes a negative int as "change nothing", as some of torch.cuda's
/// do: returns -1 for each negative int.
c10::DeviceIndex device_argument_or_none(pybind11::handle device);

/// The same without the range check of text and of a torch.device with an index. For torch.load,
/// which reports a missing device itself and names the remedy.
int64_t unchecked_device_argument(pybind11::handle device, device_rules rules);

/// Returns a new torch.device of this backend with `index`, which is not checked.
pybind11::object make_device(c10::DeviceIndex index);

}  // namespace outback::python
