"""Lets libraries that keep lists of devices find the device: accelerate, transformers' Trainer,
Lightning. docs/libraries.md has what each does then.

    OUTBACK_INTEGRATIONS=acme python train.py                  # all that are installed
    OUTBACK_INTEGRATIONS=acme:accelerate,lightning python train.py

or, in the program, before or after the libraries are imported,

    torch_outback.integrations.enable()
"""

import warnings

from ..refused import Refused
from ..variables import printable
from . import device as _device
from .device import Device
from .libraries import LIBRARIES

__all__ = ["enable"]

_enabled: set[str] = set()


def enable(*libraries: str, device: str | None = None) -> None:
    """Lets these libraries find the device, or all that are installed, in this process.

    `device` is its name, "acme"; without it, the device of the backend that is loaded. A library
    that is not imported yet is changed when it is. "transformers" stands for accelerate too. Called
    again, it does nothing for a library that it was called for before.

    Raises Refused, and changes nothing, if there is no such device or library, if a library's
    version is none of those that were tried, or if an Accelerator has been made. Without names, a
    library of such a version is left out with a warning.
    """
    found = _device.find(device)
    chosen = [each for each in _chosen(libraries, found) if each not in _enabled]
    for each in chosen:
        if LIBRARIES[each].is_too_late():
            raise Refused(
                f"{each} has chosen a device in this process already: call enable() before, or "
                f"set OUTBACK_INTEGRATIONS={found.name}"
            )
    when_imported = found.module._outback.import_hook.when_imported
    for each in chosen:
        _enabled.add(each)
        for change in LIBRARIES[each].changes:
            when_imported(change.module, lambda change=change: change.make(found))


def _chosen(named: tuple[str, ...], device: Device) -> list[str]:
    """Those that are named, with what they need, or all that can be changed."""
    for each in named:
        if each not in LIBRARIES:
            raise Refused(f"{each!r}: expected some of {', '.join(LIBRARIES)}")
    wanted = [it for each in named for it in (*LIBRARIES[each].needs, each)] or list(LIBRARIES)
    chosen = []
    for each in wanted:
        library = LIBRARIES[each]
        version = library.installed()
        try:
            if version is None:
                raise Refused(f"{library.distribution} is not installed")
            library.check_version(version)
        except Refused as error:
            if named:
                raise
            if version is not None:
                warnings.warn(f"{device.name}: {error}", stacklevel=3)
            continue
        chosen.append(each)
    return chosen


def enable_wanted(value: str) -> None:
    """What OUTBACK_INTEGRATIONS says, when a backend has been loaded. What cannot be done is a
    warning: the program goes on without the libraries' help."""
    name, _, libraries = value.partition(":")
    named = [each.strip() for each in libraries.split(",")]
    try:
        if "," in name:
            raise Refused("expected a device, and libraries behind a colon: acme:accelerate")
        enable(*filter(None, named), device=name)
    except Refused as error:
        warnings.warn(
            f"OUTBACK_INTEGRATIONS={printable(value)}: {error}. No library is changed",
            stacklevel=3,
        )
