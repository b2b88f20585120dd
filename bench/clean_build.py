"""How long a clean configure and build of the backend takes, and the build after an edit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from backend import Backend
from rows import Row, Section
from timing import Measurement

ROOT = Path(__file__).resolve().parents[1]


def sections(backend: Backend) -> list[Section]:
    jobs = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        configure = _seconds(
            "cmake", "--preset", "release", "-B", folder, "-DOUTBACK_BUILD_BENCH=OFF",
            f"-DPython_EXECUTABLE={sys.executable}", *_ninja(),
        )  # fmt: skip
        command = ["cmake", "--build", folder, "--target", backend.package, "--parallel", str(jobs)]
        build = _seconds(*command)
        # As if it had been edited; the source is the repository's, and stays as it is.
        (compiled,) = Path(folder).glob("generators/**/src/kernels.cpp.o")
        compiled.unlink()
        edit = _seconds(*command)
    rows = [
        Row("configure", "", _once(configure)),
        Row(f"build, {jobs} jobs", "", _once(build)),
        Row("after an edit of its kernels", "", _once(edit)),
    ]
    return [Section(f"clean build of {backend.package}", rows)]


def _seconds(*command: str) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return time.perf_counter() - start


def _ninja() -> list[str]:
    """The virtual environment's, where the system has none."""
    beside = Path(sys.executable).with_name("ninja")
    if shutil.which("ninja"):
        return []
    return [f"-DCMAKE_MAKE_PROGRAM={beside}"] if beside.exists() else ["-G", "Unix Makefiles"]


def _once(seconds: float) -> Measurement:
    return Measurement(seconds * 1e9, None, None, None, None, 1)
