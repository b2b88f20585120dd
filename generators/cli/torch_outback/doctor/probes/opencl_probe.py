"""Asks the loader of OpenCL for its drivers and their devices.

Argument: the loader's file or name.
"""

import ctypes
import sys

from outback_probe import at, tell

_PLATFORM_VERSION, _PLATFORM_NAME = 0x0901, 0x0902
_TYPE, _NAME, _VERSION = 0x1000, 0x102B, 0x102F
_EXTENSIONS, _SVM, _LANGUAGES = 0x1030, 0x1053, 0x105B
_ALL_TYPES = 0xFFFFFFFF
_FINE_GRAINED = 2  # CL_DEVICE_SVM_FINE_GRAIN_BUFFER
_TYPES = {2: "CPU", 4: "GPU", 8: "accelerator"}
_NOT_FOUND = (-1, -1001)  # CL_DEVICE_NOT_FOUND, CL_PLATFORM_NOT_FOUND_KHR


def main(loader: str) -> None:
    at(f"opening {loader}")
    try:
        library = ctypes.CDLL(loader)
        list_platforms = library.clGetPlatformIDs
    except (OSError, AttributeError) as error:
        tell("missing", str(error))
        return
    tell("loader", loader)
    at("clGetPlatformIDs")
    found = []
    for platform in _all(list_platforms):
        name = _text(library.clGetPlatformInfo, platform, _PLATFORM_NAME)
        at(f"clGetDeviceIDs of {name}")
        devices = _all(
            lambda count, ids, number, of=platform: library.clGetDeviceIDs(
                of, ctypes.c_uint64(_ALL_TYPES), count, ids, number
            )
        )
        version = _text(library.clGetPlatformInfo, platform, _PLATFORM_VERSION)
        listed = [_device(library.clGetDeviceInfo, device) for device in devices]
        found.append({"name": name, "version": version, "devices": listed})
    tell("platforms", found)


def _all(enumerate_) -> list:
    """OpenCL's way: the number first, then as many handles."""
    count = ctypes.c_uint32()
    status = enumerate_(0, None, ctypes.byref(count))
    if status in _NOT_FOUND or not count.value:
        return []
    if status:
        raise RuntimeError(f"OpenCL answers {status}")
    handles = (ctypes.c_void_p * count.value)()
    enumerate_(count, handles, None)
    return [ctypes.c_void_p(handle) for handle in handles]


def _text(ask, handle, what: int) -> str:
    size = ctypes.c_size_t()
    if ask(handle, what, ctypes.c_size_t(0), None, ctypes.byref(size)):
        return ""
    text = ctypes.create_string_buffer(size.value)
    ask(handle, what, size, text, None)
    return text.value.decode(errors="replace").strip()


def _number(ask, handle, what: int) -> int:
    value = ctypes.c_uint64()
    failed = ask(handle, what, ctypes.c_size_t(8), ctypes.byref(value), None)
    return 0 if failed else value.value


def _device(ask, device) -> dict:
    kind = _number(ask, device, _TYPE)
    return {
        "name": _text(ask, device, _NAME),
        "type": next((name for bit, name in _TYPES.items() if kind & bit), "device"),
        "version": _text(ask, device, _VERSION),
        "usm": "cl_intel_unified_shared_memory" in _text(ask, device, _EXTENSIONS).split(),
        "svm": bool(_number(ask, device, _SVM) & _FINE_GRAINED),
        "spirv": "SPIR-V" in _text(ask, device, _LANGUAGES),
    }


main(sys.argv[4])
