// torch.<name>.amp: what torch.cuda.amp is to CUDA.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// autocast, GradScaler, custom_fwd and custom_bwd of torch.amp for this device.
void define_amp(pybind11::module_& amp);

}  // namespace outback::python
