"""Runtimes whose driver has a stand-in in software, and the scaffold built on each of them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
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
    libraries: Mapping[str, str]  # by the variable that says where it is

    def variables(self, folder: Path) -> dict[str, str]:
        """What makes the scaffold run on it, with devices of 4 GiB."""
        size = str(4 << 30)
        where = folder / "tests/fakes/lib"
        return {
            **build.python_path(folder, self.package),
            **{name: os.fspath(where / file) for name, file in self.libraries.items()},
            "FAKE_CUDA_MEMORY": size,
            "OUTBACK_ZE_MEMORY": size,
        }


STAND_INS = (
    StandIn(
        "CUDA",
        "python_cuda",
        {"OUTBACK_CUDART": "libcudart.so.13", "OUTBACK_NVML": "libnvidia-ml.so.1"},
    ),
    StandIn(
        "Level Zero",
        "python_level_zero",
        {"ZE_ENABLE_ALT_DRIVERS": "libze_outback_software.so"},
    ),
)
