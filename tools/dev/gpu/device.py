"""The devices of this machine, as NVIDIA's driver names them, and the libcudart to use them by."""

import ctypes
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import console

_INSTEAD = "./dev test runs the same suite on a libcudart in software."
_NAMES = ("libcudart.so.13", "libcudart.so.12")  # in the order in which the runtime opens them


@dataclass(frozen=True)
class Devices:
    description: str
    memory: int | None  # bytes of the smallest, where a driver says so


def find() -> Devices:
    """Those of the driver, or whatever OUTBACK_CUDART finds; Failure where there is none."""
    if library := os.environ.get("OUTBACK_CUDART"):
        return Devices(f"OUTBACK_CUDART={library}", None)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise console.Failure(f"No NVIDIA driver here: {error}. {_INSTEAD}") from None
    count = ctypes.c_int(0)
    problem = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if problem or count.value == 0:
        raise console.Failure(
            f"The NVIDIA driver finds no device (CUDA error {problem}). {_INSTEAD}"
        )
    version = ctypes.c_int(0)
    driver.cuDriverGetVersion(ctypes.byref(version))
    names, sizes = [], []
    for device in range(count.value):
        name, size = ctypes.create_string_buffer(100), ctypes.c_size_t(0)
        driver.cuDeviceGetName(name, len(name), device)
        driver.cuDeviceTotalMem_v2(ctypes.byref(size), device)
        names.append(name.value.decode())
        sizes.append(size.value)
    of_cuda = f"driver of CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    return Devices(f"{', '.join(names)}; {of_cuda}", min(sizes))


def loader_finds_cudart() -> bool:
    """Whether a program that has not loaded torch gets at a libcudart by its name."""
    for name in _NAMES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


def cudart_in(folders: Iterable[Path]) -> Path | None:
    """The first libcudart in these folders."""
    for folder in folders:
        for name in _NAMES:
            if (folder / name).exists():
                return folder / name
    return None
