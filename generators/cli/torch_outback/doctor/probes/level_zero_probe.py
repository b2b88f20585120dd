"""Asks the loader of Level Zero for its drivers and their devices.

Argument: the loader's file or name.
"""

import ctypes
import sys

from outback_probe import at, tell

_DEVICE_PROPERTIES = 0x3  # ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES


class _DeviceProperties(ctypes.Structure):
    """ze_device_properties_t of level_zero/ze_api.h."""

    _fields_ = (
        ("stype", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("type", ctypes.c_int),
        *((name, ctypes.c_uint32) for name in ("vendor", "device", "flags", "subdevice", "clock")),
        ("max_allocation", ctypes.c_uint64),
        *((f"count_{number}", ctypes.c_uint32) for number in range(7)),
        ("timer_resolution", ctypes.c_uint64),
        *((name, ctypes.c_uint32) for name in ("timestamp_bits", "kernel_timestamp_bits")),
        ("uuid", ctypes.c_uint8 * 16),
        ("name", ctypes.c_char * 256),
        ("room", ctypes.c_char * 1024),  # for members of later versions
    )


def main(loader: str) -> None:
    at(f"opening {loader}")
    try:
        library = ctypes.CDLL(loader)
    except OSError as error:
        tell("missing", str(error))
        return
    tell("loader", loader)
    at("zeInit")
    if status := library.zeInit(0):
        tell("init_error", status & 0xFFFFFFFF)
        return  # loader 1.8 crashes in zeDriverGet after this
    at("zeDriverGet")
    found = []
    for driver in _all(library.zeDriverGet):
        version = ctypes.c_uint32()
        library.zeDriverGetApiVersion(driver, ctypes.byref(version))
        at("zeDeviceGet")
        devices = [
            _name(library, device)
            for device in _all(lambda *rest, of=driver: library.zeDeviceGet(of, *rest))
        ]
        api = f"{version.value >> 16}.{version.value & 0xFFFF}"
        found.append({"api": api, "devices": devices})
    tell("drivers", found)


def _all(enumerate_) -> list:
    """Level Zero's way: the number first, then as many handles."""
    count = ctypes.c_uint32()
    if enumerate_(ctypes.byref(count), None) or not count.value:
        return []
    handles = (ctypes.c_void_p * count.value)()
    if enumerate_(ctypes.byref(count), handles):
        return []
    return [ctypes.c_void_p(handle) for handle in handles[: count.value]]


def _name(library, device) -> str:
    properties = _DeviceProperties(stype=_DEVICE_PROPERTIES)
    if library.zeDeviceGetProperties(device, ctypes.byref(properties)):
        return ""
    return properties.name.decode(errors="replace")


main(sys.argv[4])
