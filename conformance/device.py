"""Loads the backend in a worker, and says whether the device that was asked for is there."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import sys
from pathlib import Path

import torch

from .running.refused import Refused


def load(device: str, imports: tuple[str, ...], others: tuple[str, ...] = ()) -> dict[str, str]:
    """The versions of Python, of torch, of `others` and of the `imports`.

    Raises Refused where a module cannot be imported, or where there is no such device afterwards.
    """
    for name in imports:
        try:
            importlib.import_module(name)
        except Exception as error:
            kind = "" if isinstance(error, ImportError) else f"{type(error).__name__}: "
            raise Refused(f"cannot import {name}: {kind}{error}{_where(name, error)}") from error
    find(device)
    return {"python": platform.python_version()} | {
        name: _version(name) for name in ("torch", *others, *imports)
    }


def packages(device: str, imports: tuple[str, ...]) -> dict[str, str]:
    """The packages that have registered the device, and the files from which they came.

    Without `imports` they are those of the entry points by which torch loads backends.
    """
    name = device.partition(":")[0]
    module = getattr(torch, name, None)
    entries = importlib.metadata.entry_points(group="torch.backends")
    names = [
        *imports,
        *([] if imports else [each.module.partition(".")[0] for each in entries]),
        *([] if module is None else [module.__name__.partition(".")[0], f"torch_{name}"]),
    ]
    found = {
        each: getattr(sys.modules.get(each), "__file__", None)
        for each in dict.fromkeys(names)
        if each not in ("torch", "__main__")
    }
    there = {each: file for each, file in found.items() if file}
    # What only loads a package is of no interest beside it.
    return {it: file for it, file in there.items() if not it.startswith("_")} or there


def find(text: str) -> torch.device:
    """The device with its index; the CPU is the one that has none."""
    try:
        device = torch.device(text)
    except RuntimeError as error:
        raise Refused(_no_such(text, str(error))) from None
    if device.type == "cpu":
        return torch.device("cpu")
    module = getattr(torch, device.type, None)
    if module is not None and hasattr(module, "device_count"):
        count = module.device_count()
        if count == 0:
            raise Refused(f"{text}: there is no device, torch.{device.type}.device_count() is 0")
        if (device.index or 0) >= count:
            there = "there is 1 device" if count == 1 else f"there are {count} devices"
            raise Refused(f"{text}: the index is out of range, {there}")
    return torch.device(device.type, device.index or 0)


def _no_such(text: str, said: str) -> str:
    name = text.partition(":")[0]
    registered = torch._C._get_privateuse1_backend_name()
    if name.isidentifier() and "device type at start of device string" in said:
        there = "" if registered == "privateuseone" else f", the one that is there is {registered}"
        return (
            f"no module has registered a device type {name!r}{there}: name the module that does "
            f"with --import torch_{name}"
        )
    return f"{text}: {said.splitlines()[0]}"


def _where(name: str, error: Exception) -> str:
    """Of a module that Python would have found in the current folder."""
    top = name.partition(".")[0]
    there = any(Path(place).exists() for place in (top, f"{top}.py"))
    if not there or getattr(error, "name", None) != top:
        return ""
    return "; the current folder, which has it, is not searched: PYTHONPATH=. names it"


def _version(name: str) -> str:
    """Of a module, or else of the distribution of that name."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return "absent"
    try:
        return str(getattr(module, "__version__", None) or importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
