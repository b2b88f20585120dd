"""PyTorch on acme devices: torch.device("acme"), tensor.acme(), torch.acme."""

import pkgutil

import torch

# In the project's own folder Python finds these sources before the package that is installed, or in
# build/python, which has the compiled parts.
__path__ = pkgutil.extend_path(__path__, __name__)

from ._loading import load

# What PyTorch is told of the device besides its runtime: docs/runtime.md of Outback.
load(
    "acme",
    amp_dtypes=[torch.float16, torch.bfloat16],
    unsupported_dtypes=[],  # what the device lacks: [torch.float64, torch.complex128]
)
