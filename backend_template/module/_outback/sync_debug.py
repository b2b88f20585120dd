"""torch.<name>.set_sync_debug_mode: whether calls that make the host wait warn or raise."""

from typing import Any

from . import _native, device_module, publish

_MODES = {"default": 0, "warn": 1, "error": 2, 0: 0, 1: 1, 2: 2}


def set_sync_debug_mode(debug_mode: Any) -> None:
    """What calls do that make the host wait for a stream: `item()`, copies that block,
    `Stream.synchronize()`.

    Args:
        debug_mode: "default" or 0 lets them be, "warn" or 1 warns, "error" or 2 raises
            RuntimeError. Holds for all threads. `synchronize()` of a device and of an event are
            asked for by name and never reported.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be an int or a str, not {type(debug_mode).__name__}")
    if debug_mode not in _MODES:
        expected = "`default`, `warn`, `error`" if isinstance(debug_mode, str) else "0,1,2"
        raise RuntimeError(
            f"invalid value of debug_mode: {debug_mode!r}, expected one of {expected}"
        )
    _native.set_sync_debug_mode(_MODES[debug_mode])


def define() -> None:
    publish(device_module, set_sync_debug_mode)
