"""torch._dynamo's DeviceInterface for the device (torch/_dynamo/device_interface.py). Imported when
that is."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._dynamo import device_interface
from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device

from .. import _native, device_module, name, properties

_worker_device = -1  # none was set


class Worker:
    """What the compiler's worker processes ask. They are forked and must not use the device, so the
    parent reads the properties and the workers find them here."""

    @staticmethod
    def set_device(device: int) -> None:
        global _worker_device
        _worker_device = device

    @staticmethod
    def current_device() -> int:
        return _worker_device if _worker_device >= 0 else device_module.current_device()

    @staticmethod
    def get_device_properties(device: Any = None) -> Any:
        for each in range(device_module.device_count()):
            properties.unchecked(each)
        index = Worker.current_device() if device is None else device
        return properties.unchecked(device_module._normalize_device(index))


def _is_dtype_supported(dtype: torch.dtype, including_emulation: bool = False) -> bool:
    """Whether the compiler may generate code for the dtype. bfloat16 counts as emulated unless the
    vendor names it among the dtypes of autocast."""
    if not _native.supports(dtype):
        return False
    is_emulated = dtype == torch.bfloat16 and not device_module.is_bf16_supported(False)
    return including_emulation or not is_emulated


_SAME = (
    *("current_device", "set_device", "device_count", "is_available", "stream", "current_stream"),
    *("set_stream", "_set_stream_by_id", "synchronize", "get_device_properties"),
    *("memory_allocated", "is_bf16_supported"),
)
_RENAMED = {
    "exchange_device": "_exchange_device",
    "maybe_exchange_device": "_maybe_exchange_device",
    "get_compute_capability": "get_device_capability",
}


def register() -> None:
    members = {each: getattr(device_module, each) for each in ("device", "Event", "Stream")}
    functions = {each: getattr(device_module, each) for each in _SAME}
    functions |= {ours: getattr(device_module, theirs) for ours, theirs in _RENAMED.items()}
    functions["get_raw_stream"] = _native.raw_stream
    functions["is_dtype_supported"] = _is_dtype_supported
    members |= {each: staticmethod(function) for each, function in functions.items()}
    members |= {"Worker": Worker, "__doc__": "The device as torch._dynamo asks for it."}
    interface = type("OutbackInterface", (DeviceInterface,), members)
    register_interface_for_device(name, interface)
    _find_by_index()


def _find_by_index() -> None:
    """torch looks interfaces up by "cuda" and, before 2.15, by "cuda:0", for which it has counted
    devices. To count ours may start the driver, and a process that has done so cannot fork: so that
    waits until somebody asks for "acme:0". What somebody has registered himself is what he gets."""
    find: Callable[[Any], type[DeviceInterface]] = device_interface.get_interface_for_device

    def is_ours(device: Any) -> bool:
        if not isinstance(device, str) or not device.startswith(f"{name}:"):
            return False
        if device in device_interface.device_interfaces:
            return False
        return device in (f"{name}:{index}" for index in range(device_module.device_count()))

    @functools.wraps(find)
    def get_interface_for_device(device: str | torch.device) -> type[DeviceInterface]:
        return find(name if is_ours(device) else device)

    setattr(device_interface, find.__name__, get_interface_for_device)
