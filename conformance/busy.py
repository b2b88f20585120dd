"""A stream with work on it, for what has to hold while the device is busy."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import torch

from .backend import Backend
from .check import Skipped, Unsupported

_MILLISECOND = 1_000_000  # in cycles of _sleep
_BYTES = 32 << 20


def keep_busy(backend: Backend, milliseconds: int = 50) -> None:
    """Puts about that much work on the current stream. A device that does its work before the call
    returns is free at once all the same."""
    sleep = getattr(backend.module, "_sleep", None)
    if sleep is not None:
        # A function that the device has not got is a NotImplementedError; then copies do.
        with contextlib.suppress(NotImplementedError):
            sleep(milliseconds * _MILLISECOND)
            return
    x = torch.empty(_BYTES, dtype=torch.uint8, device=backend.device)
    y = torch.empty_like(x)
    for _ in range(max(1, milliseconds // 6)):
        y.copy_(x)


def seconds_of_work(backend: Backend, milliseconds: int) -> float:
    """How long keep_busy takes by the clock, on a device that has nothing else to do."""
    torch.accelerator.synchronize(backend.device)
    begin = time.monotonic()
    keep_busy(backend, milliseconds)
    torch.accelerator.synchronize(backend.device)
    return time.monotonic() - begin


# Whose class a check is about: torch's own, or the one that torch.<name> has.
KINDS = {"torch": ("torch",), "module": ("module",)}


def streams_of(
    backend: Backend, count: int, device: torch.device | None = None, kind: str = "torch"
) -> list:
    """New streams, each one another than the default stream."""
    make = torch.Stream if kind == "torch" else backend.need("Stream")
    streams = [make(device or backend.device) for _ in range(count)]
    if default_stream(backend, device) in streams:
        raise Unsupported(f"there are no streams of {backend.name} beside the default one")
    return streams


def event_of(backend: Backend, kind: str = "torch", **options: bool) -> torch.Event:
    """A new event, of the class that the streams of the kind go with."""
    if kind == "torch":
        return torch.Event(backend.device, **options)
    return backend.need("Event")(**options)


def default_stream(backend: Backend, device: torch.device | None = None) -> torch.Stream:
    """The one that a new thread begins with. Its id is the backend's own: 0 for CUDA, 13 for
    PyTorch's example backend, openreg."""
    found: list[torch.Stream] = []
    thread = threading.Thread(
        target=lambda: found.append(torch.accelerator.current_stream(device or backend.device))
    )
    thread.start()
    thread.join()
    return found[0]


def every_stream(backend: Backend, kind: str = "torch") -> list[torch.Stream]:
    """The default stream, and another one where there are any."""
    make = torch.Stream if kind == "torch" else backend.need("Stream")
    default, other = default_stream(backend), make(backend.device)
    return [default] if other == default else [default, other]


@contextlib.contextmanager
def stays_where_it_is(backend: Backend) -> Iterator[None]:
    """Takes back what the block does to the current device and its current stream."""
    device = torch.accelerator.current_device_index()
    stream = torch.accelerator.current_stream(device)
    try:
        yield
    finally:
        torch.accelerator.set_stream(stream)
        torch.accelerator.set_device_index(device)


def pinned(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in pinned memory; Skipped where there is none, as copies then wait anyway."""
    made = tensor.pin_memory()
    if not made.is_pinned():
        raise Skipped("needs pinned memory, which the backend does not have")
    return made
