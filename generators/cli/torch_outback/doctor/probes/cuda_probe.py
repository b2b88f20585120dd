"""Asks libcudart, NVML and NVIDIA's driver what they are, without torch.

Arguments: the library of NVML, then files or names of libcudart, of which the first is taken that
can be opened.
"""

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

from outback_probe import at, tell

_TEXT = 128


def main(nvml: str, *cudarts: str) -> None:
    at("opening libcudart")
    _tell_cudart(cudarts)
    at(f"opening {nvml}")
    _tell_nvml(nvml)
    at("opening libcuda.so.1")
    _tell_driver()


def _tell_cudart(candidates: tuple[str, ...]) -> None:
    problems = []
    for name in candidates:
        try:
            library = ctypes.CDLL(name)
            version = ctypes.c_int()
            if status := library.cudaRuntimeGetVersion(ctypes.byref(version)):
                problems.append(f"{name}: cudaRuntimeGetVersion answered {status}")
                continue
        except (OSError, AttributeError) as error:
            problems.append(f"{name}: {error}")
            continue
        tell("cudart", {"file": _mapped("libcudart") or name, "version": version.value})
        return
    tell("cudart_problems", problems)


def _tell_nvml(name: str) -> None:
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        tell("nvml_missing", str(error))
        return
    at("nvmlInit_v2")
    if status := _call(library, "nvmlInit_v2"):
        said = ctypes.c_char_p(_pointer(library, "nvmlErrorString", status)).value or b""
        tell("nvml_error", {"code": status, "text": said.decode(errors="replace")})
        return
    text, number = ctypes.create_string_buffer(_TEXT), ctypes.c_int()
    found: dict[str, Any] = {
        "file": _mapped("libnvidia-ml") or name,
        "driver": "",
        "cuda": 0,
        "devices": [],
    }
    if _call(library, "nvmlSystemGetDriverVersion", text, _TEXT) == 0:
        found["driver"] = _decoded(text)
    if _call(library, "nvmlSystemGetCudaDriverVersion_v2", ctypes.byref(number)) == 0:
        found["cuda"] = number.value
    if _call(library, "nvmlDeviceGetCount_v2", ctypes.byref(number)) == 0:
        for index in range(number.value):
            device = ctypes.c_void_p()
            if _call(library, "nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(device)) == 0:
                named = _call(library, "nvmlDeviceGetName", device, text, _TEXT) == 0
                found["devices"].append(_decoded(text) if named else "")
    tell("nvml", found)


def _tell_driver() -> None:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        tell("driver_missing", str(error))
        return
    number = ctypes.c_int()
    found: dict[str, Any] = {"file": _mapped("libcuda.so"), "cuda": 0, "devices": []}
    if _call(library, "cuDriverGetVersion", ctypes.byref(number)) == 0:
        found["cuda"] = number.value
    at("cuInit")
    if status := _call(library, "cuInit", 0):
        name = ctypes.c_char_p()
        known = _call(library, "cuGetErrorName", status, ctypes.byref(name)) == 0
        said = name.value.decode(errors="replace") if known and name.value else ""
        tell("driver", found | {"error": status, "text": said})
        return
    at("cuDeviceGetCount")
    text = ctypes.create_string_buffer(_TEXT)
    if _call(library, "cuDeviceGetCount", ctypes.byref(number)) == 0:
        for index in range(number.value):
            # Handles are the indices.
            named = _call(library, "cuDeviceGetName", text, _TEXT, index) == 0
            found["devices"].append(_decoded(text) if named else "")
    tell("driver", found | {"error": 0, "text": ""})


def _call(library: ctypes.CDLL, name: str, *arguments) -> int:
    """Its status; -1 where the library has no such function."""
    try:
        function = getattr(library, name)
    except AttributeError:
        return -1
    return function(*arguments)


def _pointer(library: ctypes.CDLL, name: str, *arguments) -> int | None:
    try:
        function = getattr(library, name)
    except AttributeError:
        return None
    function.restype = ctypes.c_void_p
    return function(*arguments)


def _decoded(text) -> str:
    return text.value.decode(errors="replace")


def _mapped(beginning: str) -> str:
    """The file of this process whose name begins so."""
    maps = Path("/proc/self/maps").read_text(errors="replace")
    found = re.search(rf"(/\S*/{re.escape(beginning)}\S*)$", maps, re.MULTILINE)
    return found.group(1) if found else ""


main(*sys.argv[4:])
