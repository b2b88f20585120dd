// torch.<name>.amp: what torch.cuda.amp is to CUDA. Internal to module/.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Fills the module `amp` with autocast, GradScaler, custom_fwd and custom_bwd of torch.amp, with
/// this device as their device type. Once, with the GIL held.
void define_amp(pybind11::module_& amp);

}  // namespace outback::python
