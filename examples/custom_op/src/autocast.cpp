// torch.autocast runs acme::scaled_silu in float32: half of its range is no range for exp.
#include <outback/kernels/autocast.h>

TORCH_LIBRARY_IMPL(acme, AutocastPrivateUse1, m) {
  m.impl("scaled_silu", outback::kernels::autocast(outback::kernels::cast_policy::fp32));
}
