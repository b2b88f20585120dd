"""How long a new project takes to build: the first on a machine, and every further one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rows import Row, Section
from timing import Measurement

ROOT = Path(__file__).resolve().parents[1]


def sections() -> list[Section]:
    """Clean builds include what CMake does first; without ccache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        environment |= {
            "PYTHONPATH": os.fspath(ROOT / "generators/cli"),
            "OUTBACK_CACHE_DIR": os.path.join(folder, "cache"),
            "CCACHE_DISABLE": "1",
            # The virtual environment's ninja, where the system has none.
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        }
        first, second = (_project(folder, name, environment) for name in ("first", "second"))
        rows = [
            ("the first project", _clean_build(first, environment)),
            ("every further one", _clean_build(second, environment)),
            ("after an edit of its runtime", _edit(second, "runtime.cpp", environment)),
            ("after an edit of its kernels", _edit(second, "kernels.cpp", environment)),
        ]
    jobs = len(os.sched_getaffinity(0))
    return [Section(f"a new project, {jobs} jobs", [Row(name, "", _once(s)) for name, s in rows])]


def _project(folder: str, name: str, environment: dict[str, str]) -> Path:
    project = Path(folder, name)
    new = ["new", "acme", "--yes", "--dir", os.fspath(project)]
    _seconds([sys.executable, "-m", "torch_outback", *new], environment)
    return project


def _clean_build(project: Path, environment: dict[str, str]) -> float:
    generator = ["-G", "Ninja"] if shutil.which("ninja", path=environment["PATH"]) else []
    configure = ["cmake", "-S", project, "-B", project / "build", *generator]
    configure += [f"-DOutback_ROOT={ROOT}", f"-DPython_EXECUTABLE={sys.executable}"]
    return _seconds(configure, environment) + _build(project, environment)


def _edit(project: Path, source: str, environment: dict[str, str]) -> float:
    with (project / "src" / source).open("a") as file:
        file.write("\n// Edited.\n")
    return _build(project, environment)


def _build(project: Path, environment: dict[str, str]) -> float:
    jobs = str(len(os.sched_getaffinity(0)))
    return _seconds(["cmake", "--build", project / "build", "--parallel", jobs], environment)


def _seconds(command: list[str | Path], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return time.perf_counter() - start


def _once(seconds: float) -> Measurement:
    return Measurement(seconds * 1e9, None, None, None, None, 1)
