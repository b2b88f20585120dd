"""A backend whose gelu(out=) is right where the CPU's writes nothing: into what is transposed."""

import torch
import torch_acme  # noqa: F401
from broken.kernels import replace


@replace("gelu.out")
def _(_gelu, x, *, approximate="none", out):
    return out.resize_(x.shape).copy_(torch.nn.functional.gelu(x, approximate=approximate))
