// The devices' random generators as Python objects. Internal to module/.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Returns a tuple of torch.Generator, one for each device: those that operators use when the
/// caller gives none. The same tuple each time, once there is a device. Starts nothing. With the
/// GIL held.
pybind11::tuple default_generators();

}  // namespace outback::python
