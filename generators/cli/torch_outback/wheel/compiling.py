"""A wheel with one half: pip's, of the project's own build, and stripped."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .. import cache_key, toolkit, variables
from ..conformance.running import interpreter
from ..refused import Refused
from . import archive, layout
from .archive import Wheel
from .environment import Environment, last_line
from .merging import Single
from .project import Project

_LAST = 20  # lines of the log of a build that failed


def check_tools() -> None:
    """Before anything is downloaded. Raises Refused."""
    compilers = variables.command("CXX")[:1] or cache_key.COMPILERS
    if not any(map(shutil.which, compilers)):
        raise Refused("there is no C++ compiler: install one, or set CXX")
    if shutil.which("strip") is None:
        raise Refused("there is no strip on the PATH: install binutils")


def wheel(
    project: Project, environment: Environment, work: Path, kept: Path, without_torch: bool = False
) -> Single:
    """Builds in `work`, which is empty. `without_torch`: what has no torch in it, alone. Raises
    Refused where that fails, with the log as `kept`.
    """
    log = work / "build.log"
    options = {
        "cmake.define.Outback_DIR": toolkit.cmake_dir(),
        # Else the length of this folder's path is in the libraries.
        "cmake.define.CMAKE_BUILD_WITH_INSTALL_RPATH": "ON",
        "cmake.define.OUTBACK_RUNTIME_ONLY": "ON" if without_torch else "OFF",
        # The project's own, build/{wheel_tag}, would be that of another torch.
        "build-dir": work / "build",
    }
    settings = [word for key, value in options.items() for word in ("-C", f"{key}={value}")]
    alone = ["--no-build-isolation", "--no-deps", "--no-index", "--no-cache-dir", "-v"]
    status = environment.pip(log, "wheel", *alone, "-w", work / "made", *settings, project.folder)
    if status:
        shutil.copyfile(log, kept)
        text = log.read_text(encoding="utf-8", errors="replace")
        full = os.strerror(28)
        if full in text:
            raise Refused(f"the project's wheel could not be built: {full} in {work.parent}")
        last = "\n".join(_of_build(text)[-_LAST:])
        raise Refused(f"the project's wheel could not be built, see {kept}:\n{last}")
    made = list((work / "made").glob("*.whl"))
    if len(made) != 1:
        raise Refused(f"the project's build made {len(made)} wheels: {last_line(log)}")
    return Single(made[0].name, stripped(archive.read(made[0])))


def stripped(made: Wheel) -> Wheel:
    """Without what no loader reads, and without the linker's hash of the rest."""
    files = dict(made.files)
    for path in filter(layout.is_library, made.files):
        if _is_of_this_machine(files[path]):  # not the device's own programs, nor a linker's text
            files[path] = _stripped(files[path], path)
    return dataclasses.replace(made, files=files)


def _stripped(library: bytes, path: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "library")
        file.write_bytes(library)
        done = subprocess.run(
            ["strip", "--strip-all", "--remove-section=.note.gnu.build-id", file],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Refused(f"strip fails on {path}: {done.stderr.strip()}")
        return file.read_bytes()


def _is_of_this_machine(library: bytes) -> bool:
    """By the header of an ELF file: its class, order of bytes, and processor."""
    with interpreter.path().open("rb") as program:
        ours = program.read(20)
    return library[:6] == ours[:6] and library[18:20] == ours[18:20]


def _of_build(text: str) -> list[str]:
    """The lines before pip's own about them."""
    lines = text.splitlines()
    ends = [
        i for i, line in enumerate(lines) if line.lstrip().startswith("error: subprocess-exited")
    ]
    return [line for line in lines[: ends[0] if ends else None] if line.strip()]


def flags() -> list[str]:
    """What the user has said of the compiler: a half of other flags is another one."""
    names = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_ARGS", "CMAKE_TOOLCHAIN_FILE")
    # The latter two say which version it is.
    prefixes = ("SKBUILD_", "SETUPTOOLS_SCM_", "VCS_VERSIONING_")
    of_builder = sorted(name for name in os.environ if name.startswith(prefixes))
    return [f"{name}={variables.text(name)}" for name in (*names, *of_builder)]
