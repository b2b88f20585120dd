"""How a name of a library is given another meaning, now or when the library is imported."""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from .device import Device


@dataclass(frozen=True)
class Change:
    module: str  # of the library: "accelerate.state"
    name: str  # in the module: "PartialState.set_device"
    instead: Callable[[Any, Device], Any]  # of what has the name, and for which device

    def make(self, device: Device) -> None:
        """Of a module that is imported."""
        owner: Any = sys.modules[self.module]
        *path, last = self.name.split(".")
        for each in path:
            owner = getattr(owner, each)
        before = vars(owner)[last]
        after = self.instead(before, device)
        setattr(owner, last, after)
        # Of a function that the library has imported itself, only this name changes.
        if not path and callable(before) and before.__module__ == self.module:
            _replace_imported(before, after)


def _replace_imported(before: Any, after: Any) -> None:
    """Where other modules have imported the function by its name."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is before:
                setattr(module, name, after)


# ---- What several libraries need


class _Torch(ModuleType):
    """torch, where cuda is another device's module."""

    def __init__(self, device: Device) -> None:
        super().__init__("torch")
        self.cuda = device.module

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def torch_of(before: Any, device: Device) -> Any:
    """For a module of a library whose last case, for devices that it does not know, is torch.cuda:
    there torch.cuda is the device's module."""
    assert before is torch
    return _Torch(device)


def listed_beside(neighbor: str) -> Callable[[Any, Device], Any]:
    """For a function that compares with a list of names of devices that is written in it: adds the
    device's name to each list that has `neighbor` in it."""

    def instead(before: Any, device: Device) -> Any:
        def longer(constant: Any) -> Any:
            is_list = isinstance(constant, (tuple, frozenset)) and neighbor in constant
            return type(constant)([*constant, device.name]) if is_list else constant

        code = before.__code__
        constants = tuple(map(longer, code.co_consts))
        if constants == code.co_consts:
            raise LookupError(f"{before.__qualname__} has no list with {neighbor!r} in it")
        before.__code__ = code.replace(co_consts=constants)
        return before

    return instead


def loads_by_index(before: Any, device: Device) -> Any:
    """For safetensors' functions, which know devices by the names that they list, or by a number:
    that of the current accelerator's devices."""

    @functools.wraps(before)
    def load(*args: Any, **named: Any) -> Any:
        chosen = named.get("device")
        if isinstance(chosen, (str, torch.device)) and torch.device(chosen).type == device.name:
            index = torch.device(chosen).index
            named["device"] = device.module.current_device() if index is None else index
        return before(*args, **named)

    return load
