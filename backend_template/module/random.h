// The random generators of the devices, as Python objects.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// A tuple of torch.Generator, one a device: the ones that operators use when none is given.
pybind11::tuple default_generators();

}  // namespace outback::python
