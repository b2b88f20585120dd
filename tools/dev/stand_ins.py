"""Runtimes whose driver runs without a device, and the scaffold built on each of them: stand-ins in
software for the drivers of CUDA and Level Zero, and PoCL, a driver of OpenCL for the CPU."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import build, console


def require(folder: Path, package: str, name: str) -> None:
    """Raises NotRun where the build tree `folder` has no such scaffold."""
    if not (folder / package).is_dir():
        raise console.NotRun(f"this build has no {name} runtime, for want of its headers")


@dataclass(frozen=True)
class StandIn:
    name: str
    package: str  # the scaffold's folder in the build tree
    # By the variable that says where it is: the driver's library in tests/fakes/lib, or another
    # file or folder in the build tree.
    libraries: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""  # a file in the build tree
    without: str = ""  # what is said where that file is missing

    def variables(self, folder: Path) -> dict[str, str]:
        """What makes the scaffold run on it, with devices of 4 GiB."""
        where = folder / "tests/fakes/lib"
        return {
            **build.python_path(folder, self.package),
            **{name: os.fspath(where / file) for name, file in self.libraries.items()},
            **{name: os.fspath(folder / place) for name, place in self.places.items()},
            **self.settings,
        }

    def require(self, folder: Path) -> None:
        """Raises NotRun where the build tree `folder` has not got it."""
        require(folder, self.package, self.name)
        if self.needs and not (folder / self.needs).exists():
            raise console.NotRun(self.without)


_SIZE = str(4 << 30)
STAND_INS = (
    StandIn(
        "CUDA",
        "python_cuda",
        libraries={"OUTBACK_CUDART": "libcudart.so.13", "OUTBACK_NVML": "libnvidia-ml.so.1"},
        settings={"FAKE_CUDA_MEMORY": _SIZE},
    ),
    StandIn(
        "Level Zero",
        "python_level_zero",
        libraries={"ZE_ENABLE_ALT_DRIVERS": "libze_outback_software.so"},
        settings={"OUTBACK_ZE_MEMORY": _SIZE},
    ),
    StandIn(
        "OpenCL",
        "python_opencl",
        places={"OCL_ICD_VENDORS": "tests/opencl_vendors", "POCL_CACHE_DIR": "tests/pocl_cache"},
        settings={"POCL_DEVICES": "pthread pthread", "POCL_MEMORY_LIMIT": "4"},
        needs="tests/opencl_vendors/pocl.icd",
        without="there is no OpenCL driver for the CPU (Debian: pocl-opencl-icd)",
    ),
)
