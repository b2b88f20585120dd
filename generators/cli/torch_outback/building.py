"""Compiling the torch half: cmake, whose processes end with this one."""

import errno
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from . import programs, toolkit, variables
from .refused import Refused

MODULE = "_C"
_TARGET = "outback_loader"
# What the user has said of other builds: how they are made, and where they are installed.
_OF_OTHERS = {
    "CMAKE_GENERATOR_INSTANCE", "CMAKE_GENERATOR_PLATFORM", "CMAKE_GENERATOR_TOOLSET",
    "CMAKE_INSTALL_MODE", "DESTDIR", "MAKEFLAGS", "MFLAGS",
}  # fmt: skip


def cmake() -> str:
    found = shutil.which("cmake")
    if found is None:
        raise Refused(
            "the torch half has to be compiled, once for each torch, and there is no cmake on the "
            "PATH: pip install cmake ninja"
        )
    return found


class Failed(Refused):
    """The compiler, or what starts it, ended with an error."""


def compile_into(
    made: Path, build: Path, log: Path, flags: str = "", portable: bool = False
) -> bool:
    """Puts the module _C and lib/*.a into `made`, readable for this user alone.

    `flags` are OUTBACK_TORCH_HALF_FLAGS; "" for Outback's own. `portable`: the module has the
    portable operators, for a runtime that packs their kernels. What the tools print is in `log`.
    False where they fail; Refused where there are none.
    """
    tool = cmake()
    configure: list[str | Path] = [
        tool,
        "--fresh",
        "-S",
        toolkit.tree() / "generators/loader",
        "-B",
        build,
    ]
    configure += [f"-DOutback_DIR={toolkit.cmake_dir()}", "-DCMAKE_BUILD_TYPE=Release"]
    configure += ["-DOUTBACK_CACHE=OFF"]
    configure += [f"-DOUTBACK_TORCH_HALF_FLAGS={flags}"] if flags else []
    configure += ["-DOUTBACK_PORTABLE_OPERATORS=ON"] if portable else []
    configure += [f"-DPython_EXECUTABLE={sys.executable}"]
    jobs = variables.text("CMAKE_BUILD_PARALLEL_LEVEL") or str(len(os.sched_getaffinity(0)))
    with log.open("xb") as output:
        commands: tuple[Sequence[str | Path], ...] = (
            configure,
            [tool, "--build", build, "--target", _TARGET, "outback_kernels", "--parallel", jobs],
            [tool, "--install", build, "--prefix", made],
        )
        for command in commands:
            if programs.run(command, output, log.parent, _environment()):
                return False
    return True


def failure(log: Path, kept: Path) -> Refused:
    """Why what is in `log` failed. Keeps it as `kept`, where a link is replaced, and not followed.

    A full disk is the place's fault and no Failed.
    """
    text = log.read_text(encoding="utf-8", errors="replace")
    # CMake's own logs go with the folder in which it compiled.
    lines = [line for line in text.splitlines() if not line.startswith("See also ")]
    last = "\n".join(lines[-20:])
    full = os.strerror(errno.ENOSPC)
    log.replace(kept)
    if full in text:
        return Refused(f"the torch half could not be compiled: {full} in {kept.parent}")
    return Failed(f"the torch half could not be compiled, see {kept}:\n{last}")


def _environment() -> dict[str, str]:
    environment = {name: text for name, text in os.environ.items() if name not in _OF_OTHERS}
    if named := environment.get("PYTHONPATH"):
        folders = [os.path.abspath(folder) for folder in named.split(os.pathsep) if folder]
        environment["PYTHONPATH"] = os.pathsep.join(folders)
    environment["CMAKE_GENERATOR"] = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    return environment
