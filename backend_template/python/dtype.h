// Reads a torch.dtype that a Python caller passes.
#pragma once

#include <c10/core/ScalarType.h>
#include <pybind11/pybind11.h>

namespace outback::python {

/// Throws c10::TypeError (Python: TypeError) if `dtype` is not a torch.dtype.
c10::ScalarType as_scalar_type(pybind11::handle dtype);

}  // namespace outback::python
