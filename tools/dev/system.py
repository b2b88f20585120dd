"""What must come from the operating system: found, else installed, else named in one sentence."""

import ctypes.util
import importlib.util
import os
import re
import shutil
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import console, shell


@dataclass(frozen=True)
class Need:
    package: str  # Debian's name, which other systems' users will recognize
    is_there: Callable[[], bool]
    optional: bool = False


def _program(*names: str) -> Callable[[], bool]:
    return lambda: any(shutil.which(name) for name in names)


def header(name: str) -> Callable[[], bool]:
    """Whether the compiler finds a header by this name."""
    folders = (
        "/usr/include",
        "/usr/local/include",
        *os.environ.get("CPLUS_INCLUDE_PATH", "").split(":"),
    )
    return lambda: any(folder and Path(folder, name).exists() for folder in folders)


COMPILE = (
    Need("g++", _program("c++", "g++", "clang++", os.environ.get("CXX", "c++"))),
    Need("cmake", _program("cmake")),
    Need("python3-dev", lambda: Path(sysconfig.get_path("include"), "Python.h").exists()),
    Need("ccache", _program("ccache"), optional=True),
)
_VENV = (Need("python3-venv", lambda: importlib.util.find_spec("ensurepip") is not None),)
_BENCH = (Need("libbenchmark-dev", header("benchmark/benchmark.h")),)
_TESTS = (
    *_BENCH,  # they configure all folders
    Need("libfmt-dev", header("fmt/core.h")),
    Need("libgtest-dev", header("gtest/gtest.h")),
    Need("libgmock-dev", header("gmock/gmock.h")),
    Need("mold", _program("mold"), optional=True),
    Need("clang-14", _program("clang++-14"), optional=True),
)
# Without the first two there is no Level Zero runtime, and no test of it. The last checks modules.
_LEVEL_ZERO = (
    Need("libze-dev", header("level_zero/ze_api.h"), optional=True),
    Need("libze1", lambda: ctypes.util.find_library("ze_loader") is not None, optional=True),
    Need("spirv-tools", _program("spirv-val"), optional=True),
)
# Without the headers there is no OpenCL runtime, and without PoCL, which brings the loader, no test
# of it.
_OPENCL = (
    Need("opencl-c-headers", header("CL/cl_ext.h"), optional=True),
    Need("pocl-opencl-icd", lambda: ctypes.util.find_library("pocl") is not None, optional=True),
    Need(
        "ocl-icd-libopencl1",
        lambda: ctypes.util.find_library("OpenCL") is not None,
        optional=True,
    ),
)


def provide(*, venv: bool, tests: bool = False, bench: bool = False, install: bool = True) -> None:
    """Provides the packages for this kind of work; `install=False` only looks."""
    needs = [
        *COMPILE,
        *(_VENV if venv else ()),
        *((*_TESTS, *_LEVEL_ZERO, *_OPENCL) if tests else ()),
        *(_BENCH if bench else ()),
    ]
    missing = [need for need in needs if not need.is_there()]
    may_install = install and os.geteuid() == 0 and shutil.which("apt-get")
    if may_install and missing:
        _apt_install(missing)
        importlib.invalidate_caches()
        missing = [need for need in needs if not need.is_there()]
    required = [need.package for need in missing if not need.optional]
    if required:
        raise console.Failure(
            f"Please install what is missing: sudo apt-get install {' '.join(required)}"
        )
    _check_cmake()


def _apt_install(needs: Sequence[Need]) -> None:
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq"]
    install = [*apt, "install", "-y", "--no-install-recommends"]
    with console.step("system packages") as step:
        # A failed update is no reason to stop: what is needed may be in the lists already.
        shell.run("apt", [*apt, "update"], env=quiet, check=False)
        required = [need.package for need in needs if not need.optional]
        shell.run("apt", [*install, *required], env=quiet, append=True)
        for need in needs:  # one by one: another release of Debian may lack one of them
            if need.optional:
                shell.run("apt", [*install, need.package], env=quiet, append=True, check=False)
        step.note = " ".join(need.package for need in needs)


def _check_cmake() -> None:
    version = re.search(r"(\d+)\.(\d+)", shell.output(["cmake", "--version"]))
    if not version or tuple(map(int, version.groups())) < (3, 24):
        found = version.group() if version else "one that does not run"
        raise console.Failure(f"Outback needs CMake 3.24 or newer; this system has {found}.")
