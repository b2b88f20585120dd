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
from .libraries import LIBRARIES

__all__ = ["enable"]

_enabled: set[str] = set()


def enable(*libraries: str, device: str | None = None) -> None:
    """Lets these libraries find the device, or all that are installed, in this process.

    `device` is its name, "acme"; without it, the device of the backend that is loaded. A library
    that is not imported yet is changed when it is. Called again, it does nothing for a library that
    it was called for before.

    Raises Refused, and changes nothing, if there is no such device or library, or a library's
    version is none of those that were tried. Without names, such a library is left out with a
    warning.
    """
    found = _device.find(device)
    chosen = []
    for each in libraries or LIBRARIES:
        if each not in LIBRARIES:
            raise Refused(f"{each}: expected some of {', '.join(LIBRARIES)}")
        library = LIBRARIES[each]
        version = library.installed()
        if version is None:
            if libraries:
                raise Refused(f"{library.distribution} is not installed")
            continue
        try:
            library.check_version(version)
        except Refused as error:
            if libraries:
                raise
            warnings.warn(f"{found.name}: {error}", stacklevel=2)
            continue
        chosen.append(each)
    when_imported = found.module._outback.import_hook.when_imported
    for each in chosen:
        if each in _enabled:
            continue
        _enabled.add(each)
        for change in LIBRARIES[each].changes:
            when_imported(change.module, lambda change=change: change.make(found))


def enable_wanted(value: str) -> None:
    """What OUTBACK_INTEGRATIONS says, when a backend has been loaded. What cannot be done is a
    warning: the program goes on without the libraries' help."""
    name, _, libraries = value.partition(":")
    try:
        enable(*filter(None, libraries.split(",")), device=name)
    except Refused as error:
        warnings.warn(f"OUTBACK_INTEGRATIONS={printable(value)}: {error}", stacklevel=3)
