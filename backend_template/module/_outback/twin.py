"""The module of PyTorch's own for the device whose streams and memory one of ours shares, such as
torch.cuda for a device with CUDA's kernels. What it has, torch.<name> does not do a second time."""

from typing import Any

import torch

from . import _native, device_module, name


def of(device: int) -> torch.device | None:
    """PyTorch's own device for the same hardware. Starts the backend."""
    kernels = _native.kernels_of(device)
    return None if kernels in (None, "cpu") else torch.device(kernels)


def start() -> None:
    """Lets PyTorch's own devices start, and take the seeds that came before. What is wrong with a
    device concerns those who use it."""
    if not _native.may_have_twins():
        return
    for device in range(device_module.device_count()):
        try:
            own = of(device)
        except RuntimeError:
            continue
        if own is None:
            continue
        module = getattr(torch, own.type, None)
        if module is not None:
            module.init()
        _native.seed_twin(device)


def member(path: str, device: int | None = None) -> Any:
    """That of the module: "memory.MemPool" of torch.cuda; None for a device that has no twin. The
    current device by default."""
    device_module.init()
    own = of(device_module.current_device() if device is None else device)
    if own is None:
        return None
    found: Any = getattr(torch, own.type, None)
    for part in path.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise NotImplementedError(
            f"{name}: {path}: the device shares its memory and streams with {own}, and "
            f"torch.{own.type} has no {path}"
        )
    return found


def stream(of_ours: Any) -> Any:
    """The same stream as an object of the module's; what is no stream of ours is returned as it
    is."""
    if not isinstance(of_ours, device_module.Stream):
        return of_ours
    own = of(of_ours.device_index)
    if own is None:
        return of_ours
    number = member("current_stream", of_ours.device_index)(own.index).device_type
    kind = member("Stream", of_ours.device_index)
    return kind(stream_id=of_ours.stream_id, device_index=own.index, device_type=number)


def index(device: Any) -> int:
    """Its index among PyTorch's own devices of a device of ours that has a twin."""
    own = of(device_module._normalize_device(device))
    assert own is not None
    return own.index
