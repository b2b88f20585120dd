"""PyTorch on acme devices: torch.device("acme"), tensor.acme(), torch.acme."""

import pkgutil

import torch

# In the project's own folder Python finds these sources before the package that is installed, or in
# build/python, which has the compiled part.
__path__ = pkgutil.extend_path(__path__, __name__)

from ._build import TORCH as _built_for

# Before the compiled part is touched: in another torch it would lack symbols, or do worse.
if torch.__version__.split(".")[:2] != _built_for.split("."):
    raise ImportError(
        f"torch_acme was built for torch {_built_for} and this is torch {torch.__version__}: "
        f"install the torch_acme that was made for it, or rebuild it here."
    )

from . import _C  # noqa: F401
