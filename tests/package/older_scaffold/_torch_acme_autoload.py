"""What `import torch` calls, through the entry point group torch.backends, to load this backend.

It is no part of the package. An error that leaves this function aborts `import torch`; one that
torch_acme/__init__.py kept to itself would leave half a module in sys.modules.
"""

import sys
import warnings


def load() -> None:
    # `import torch_acme` is what imported torch: it goes on by itself as soon as torch is there.
    if "torch_acme" in sys.modules:
        return
    try:
        import torch_acme  # noqa: F401
    except ImportError as error:
        warnings.warn(f"torch_acme was not loaded: {error}", stacklevel=2)
