"""What torch.nn.DataParallel, and torch.nn.parallel.comm, copy with: torch._C has it in builds for
CUDA alone, and for CUDA's tensors. As in torch/csrc/cuda/comm.cpp; the index -1 is the CPU. And
autocast in the threads of torch.nn.parallel."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from . import name


def _at(index: int) -> torch.device:
    return torch.device("cpu") if index == -1 else torch.device(name, index)


def _moved(tensor: torch.Tensor, index: int) -> torch.Tensor:
    """Itself where it is there. What the host may read next is there when this returns."""
    return tensor.to(_at(index), non_blocking=index != -1)


def _check_is_ours(tensors: Sequence[torch.Tensor], what: str) -> None:
    for i, tensor in enumerate(tensors):
        if tensor.device.type != name:
            raise RuntimeError(
                f"Expected all {what} tensors to be on {name} devices, but tensor at index {i} has "
                f"device {tensor.device}"
            )


def _broadcast(tensor: torch.Tensor, devices: Sequence[int]) -> list[torch.Tensor]:
    return [_moved(tensor, index) for index in devices]


def _broadcast_out(tensor: torch.Tensor, out: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    _check_is_ours(out, "output")
    for i, each in enumerate(out):
        if each.shape != tensor.shape:
            raise RuntimeError(
                f"Expected all output tensors to have same shape as the source "
                f"{tuple(tensor.shape)}, but tensor at index {i} has shape {tuple(each.shape)}"
            )
    return [each if each is tensor else each.copy_(tensor, non_blocking=True) for each in out]


def _broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[int], buffer_size: int
) -> list[list[torch.Tensor]]:
    """One by one: `buffer_size` is for links that a copy of many small tensors is slow on."""
    if any(tensor.device != _at(devices[0]) for tensor in tensors):
        raise RuntimeError(f"All tensors must be on devices[0]: {devices[0]}")
    return [[_moved(tensor, index) for tensor in tensors] for index in devices]


def _scatter(
    tensor: torch.Tensor,
    devices: Sequence[int],
    chunk_sizes: Sequence[int] | None,
    dim: int,
    streams: Sequence[torch.Stream | None] | None,
) -> list[torch.Tensor]:
    if chunk_sizes is None:
        chunks = tensor.chunk(len(devices), dim)
    elif len(chunk_sizes) == len(devices):
        chunks = tensor.split(list(chunk_sizes), dim)
    else:
        raise RuntimeError(
            f"Expected devices and chunk_sizes to be of same length, but got {len(devices)} "
            f"devices and {len(chunk_sizes)} chunk sizes"
        )
    parts = []
    for i, chunk in enumerate(chunks):
        with (streams and streams[i]) or contextlib.nullcontext():
            parts.append(_moved(chunk, devices[i]))
    return parts


def _scatter_out(
    tensor: torch.Tensor,
    out: Sequence[torch.Tensor],
    dim: int,
    streams: Sequence[torch.Stream | None] | None,
) -> list[torch.Tensor]:
    _check_is_ours(out, "output")
    for i, chunk in enumerate(tensor.split([each.size(dim) for each in out], dim)):
        with (streams and streams[i]) or contextlib.nullcontext():
            out[i].copy_(chunk, non_blocking=True)
    return list(out)


def _gather(tensors: Sequence[torch.Tensor], dim: int, destination: int) -> torch.Tensor:
    _check_is_ours(tensors, "input")
    return torch.cat([_moved(tensor, destination) for tensor in tensors], dim)


def _gather_out(tensors: Sequence[torch.Tensor], out: torch.Tensor, dim: int) -> torch.Tensor:
    _check_is_ours(tensors, "input")
    parts = out.split([tensor.size(dim) for tensor in tensors], dim)
    for part, tensor in zip(parts, tensors, strict=True):
        part.copy_(tensor, non_blocking=not out.is_cpu)
    return out


_FUNCTIONS = (
    *(_broadcast, _broadcast_out, _broadcast_coalesced),
    *(_scatter, _scatter_out, _gather, _gather_out),
)


def _has_ours(arguments: Iterable[Any]) -> bool:
    for argument in arguments:
        tensors = argument if isinstance(argument, (list, tuple)) else (argument,)
        if any(isinstance(it, torch.Tensor) and it.device.type == name for it in tensors):
            return True
    return False


def _beside(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Where there is a device of CUDA's, the numbers of devices are those of CUDA's (torch._utils,
    _get_available_device_type), unless the tensors say otherwise."""

    @functools.wraps(ours)
    def function(*arguments: Any) -> Any:
        is_theirs = torch.cuda.is_available() and not _has_ours(arguments)
        return (theirs if is_theirs else ours)(*arguments)

    return function


def _casting(module: Callable[..., Any]) -> Callable[..., Any]:
    """It under the calling thread's autocast, for another thread."""
    dtype, caches = torch.get_autocast_dtype(name), torch.is_autocast_cache_enabled()

    def call(*arguments: Any, **named: Any) -> Any:
        with torch.autocast(name, dtype=dtype, cache_enabled=caches):
            return module(*arguments, **named)

    return call


def _take_autocast_along() -> None:
    """torch asks whether autocast is on for CUDA."""
    of_torch = torch.nn.parallel.parallel_apply

    @functools.wraps(of_torch)
    def parallel_apply(modules: Sequence[Any], *arguments: Any, **named: Any) -> Any:
        if torch.is_autocast_enabled(name):
            modules = [_casting(module) for module in modules]
        return of_torch(modules, *arguments, **named)

    modules = ("torch.nn.parallel", "torch.nn.parallel.parallel_apply")
    for module in (*modules, "torch.nn.parallel.data_parallel"):
        setattr(sys.modules[module], parallel_apply.__name__, parallel_apply)


def register() -> None:
    for ours in _FUNCTIONS:
        theirs = getattr(torch._C, ours.__name__, None)
        setattr(torch._C, ours.__name__, _beside(ours, theirs) if theirs else ours)
    _take_autocast_along()
