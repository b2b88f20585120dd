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

# Likewise: its kernels would take the place of those of a backend that is loaded.
_loaded = torch._C._get_privateuse1_backend_name()
if _loaded not in ("privateuseone", "acme"):
    raise ImportError(
        f"cannot register acme: this process's PrivateUse1 backend is {_loaded} already, and "
        "PyTorch has room for one: OUTBACK_AUTOLOAD=0 keeps `import torch` from loading any"
    )

from . import _C  # noqa: E402, F401
