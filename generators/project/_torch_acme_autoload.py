"""What `import torch` calls, through the entry point group torch.backends, to load this backend,
and what torch.distributed calls for a group of its device.

It is no part of the package. An error that leaves this function aborts `import torch`; one that
torch_acme/__init__.py kept to itself would leave half a module in sys.modules.
"""

import os
import sys
import warnings

# A backend that is registered breaks the autograd of plain CUDA tensors (pytorch#161129).
_NOT_LOADED = (
    "torch_acme was not loaded, since it would break the autograd of CUDA tensors "
    "(pytorch#161129): `import torch_acme` loads it in one program, "
    "OUTBACK_AUTOLOAD=1 in all, and OUTBACK_AUTOLOAD=0 ends this message."
)


def load() -> None:
    """Of a device that is CUDA's own, and computes with the kernels of torch's CUDA build."""
    _load(breaks_cuda=False)


def load_unless_cuda() -> None:
    """Of any other device."""
    _load(breaks_cuda=True)


def load_by_name() -> None:
    """Through the entry point group torch.distributed.backends, for who names the device."""
    import torch_acme  # noqa: F401


def _load(breaks_cuda: bool) -> None:
    # `import torch_acme` is what imported torch: it goes on by itself as soon as torch is there.
    if "torch_acme" in sys.modules:
        return
    try:
        if _is_wanted(breaks_cuda):
            import torch_acme  # noqa: F401
    except ImportError as error:
        warnings.warn(f"torch_acme was not loaded: {error}", stacklevel=3)


def _is_wanted(breaks_cuda: bool) -> bool:
    wanted = os.environ.get("OUTBACK_AUTOLOAD")
    if wanted not in (None, "", "0", "1"):
        raise ImportError(f"OUTBACK_AUTOLOAD={ascii(wanted)[1:-1]}: expected 0 or 1")
    if wanted:
        return wanted == "1"
    if not breaks_cuda or not _has_cuda_devices():
        return True
    # Once in a tree of processes: those that this one starts have it too.
    if not os.environ.get("OUTBACK_AUTOLOAD_SAID"):
        os.environ["OUTBACK_AUTOLOAD_SAID"] = "1"
        print(_NOT_LOADED, file=sys.stderr)
    return False


def _has_cuda_devices() -> bool:
    """Asks NVML, as the answer of CUDA itself would keep forks of this process from using it."""
    import torch

    if torch.version.cuda is None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a driver that does not start
        return torch.cuda._device_count_nvml() > 0
