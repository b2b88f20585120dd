"""The current device of a thread, made another one for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from .backend import Backend
from .check import Unsupported


def need_accelerator(backend: Backend) -> None:
    """Unsupported where torch.accelerator is about another device, as with the CPU's."""
    found = torch.accelerator.current_accelerator()
    if found is None or found.type != backend.name:
        raise Unsupported(f"{backend.name} is not the accelerator of this process, {found} is")


def need_privateuse1(backend: Backend) -> None:
    """Unsupported where the device is one of PyTorch's own."""
    if torch._C._dispatch_key_for_device(backend.name) != "PrivateUse1":
        raise Unsupported(f"{backend.name} is one of PyTorch's own devices")


@contextlib.contextmanager
def current_device(backend: Backend, device: torch.device) -> Iterator[None]:
    """`device` is current inside, and afterwards the one that was, whatever happened inside."""
    need_accelerator(backend)
    before = torch._C._accelerator_getDeviceIndex()
    torch._C._accelerator_setDeviceIndex(device.index)
    try:
        yield
    finally:
        torch._C._accelerator_setDeviceIndex(before)
