"""An environment that has the torch of a half, and what builds the project."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from .. import programs, variables
from ..conformance.running import interpreter
from ..refused import Refused
from .wanted import Half, own_python

# As `python -m pip`, but for the current folder.
_PIP = "from runpy import run_module\nrun_module('pip', run_name='__main__', alter_sys=True)"
# Of the user's shell, for the Python that runs this.
_NOT_THEIRS = (
    "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "TORCH_DEVICE_BACKEND_AUTOLOAD",
    "PIP_PREFIX", "PIP_ROOT", "PIP_TARGET", "PIP_USER",
)  # fmt: skip
_OURS = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_USER": "0"}
# Of torch's version.py, which imports nothing, and of the packages whose names are given.
_ASK = """
import importlib.metadata, importlib.util, json, pathlib, sys
spec = importlib.util.find_spec("torch")
found = {}
if spec is not None and spec.origin is not None:
    exec(pathlib.Path(spec.origin).with_name("version.py").read_text(), found)
there = {}
for name in sys.argv[1:]:
    try:
        there[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps([found.get("__version__", ""), there]))
"""


@dataclass(frozen=True)
class Environment:
    python: Path

    def variables(self) -> dict[str, str]:
        """For programs that are to find its Python and its tools first."""
        ours = {name: text for name, text in os.environ.items() if name not in _NOT_THEIRS}
        path = os.pathsep.join(
            [os.fspath(self.python.parent), variables.text("PATH") or os.defpath]
        )
        return {**ours, **_OURS, "PATH": path}

    def torch(self) -> str:
        """The installed release, "2.13.0+cpu"; "" where there is none."""
        return _facts(self.python)[0]

    def pip(self, log: Path, *arguments: str | Path, **more: str) -> int:
        """The status of pip, which works on this environment. What it says is in `log`; what it has
        unpacked is beside it, and removed, also if it is interrupted."""
        command = interpreter.program(_PIP, "--python", os.fspath(self.python))
        with log.open("wb") as output, tempfile.TemporaryDirectory(dir=log.parent) as unpacked:
            given = {**self.variables(), "TMPDIR": unpacked, **more}
            return programs.run([*command, *arguments], output, log.parent, given, umask=0o022)


def check_pip() -> None:
    """Raises Refused."""
    if importlib.util.find_spec("pip") is None:
        raise Refused(f"outback wheel builds with pip, which {sys.executable} lacks: install pip")


def imports(path: str) -> bool:
    """Whether this Python does, an extension module by its name."""
    return path.endswith(importlib.machinery.EXTENSION_SUFFIXES[0])


def own(half: Half, wanted: Sequence[str]) -> Environment | None:
    """That of this Python, where it has the builder and what is `wanted` for the half."""
    if half.python != own_python():
        return None
    needed = [Requirement(it) for it in (*wanted, "scikit-build-core")]
    torch, there = _facts(interpreter.path(), *(it.name for it in needed))
    there["torch"] = torch or "0"
    fits = all(
        it.name in there and it.specifier.contains(there[it.name], prereleases=True)
        for it in needed
        if it.marker is None or it.marker.evaluate()
    )
    return Environment(interpreter.path()) if fits else None


def make(python: Path, folder: Path, log: Path) -> Environment:
    """An empty one, of the release of `python`. Raises Refused."""
    shutil.rmtree(folder, ignore_errors=True)
    made = Environment(folder / "bin/python")
    command: list[str | Path] = [python, "-I", "-m", "venv", "--without-pip", folder]
    with log.open("wb") as output:
        if programs.run(command, output, log.parent, made.variables(), umask=0o022):
            raise Refused(f"{python} can make no environment: {last_line(log)}")
    return made


def packages(half: Half, others: Sequence[str]) -> list[str]:
    """What pip is asked for: torch, `others`, and the tools that are not on the PATH."""
    tools = [tool for tool in ("cmake", "ninja") if shutil.which(tool) is None]
    return [f"torch=={half.torch}.*", *dict.fromkeys([*others, *tools])]


def plan(made: Environment, half: Half, wanted: Sequence[str], log: Path) -> list[Mapping]:
    """What pip would install: the entries of its report. Raises Refused where it finds none."""
    report = log.with_suffix(".json")
    quiet: list[str | Path] = ["--quiet", "--dry-run", "--report", report]
    if made.pip(log, "install", *quiet, *wanted):
        raise Refused(f"pip finds nothing to compile {half} against: {last_line(log)}")
    return json.loads(report.read_text(encoding="utf-8"))["install"]


def fill(made: Environment, half: Half, wanted: Sequence[str], log: Path) -> None:
    """Raises Refused."""
    if made.pip(log, "install", "--quiet", "--no-compile", *wanted):
        raise Refused(f"pip cannot install what {half} is compiled against: {last_line(log)}")


def last_line(log: Path) -> str:
    """Of what a program said, an error where there is one; a full disk is said as such."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it says nothing"]
    full = [line for line in lines if os.strerror(28) in line]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return variables.printable((full or errors or lines)[-1].removeprefix("ERROR: "))


def _facts(python: Path, *names: str) -> tuple[str, dict[str, str]]:
    """The release of torch, and those of the packages that are there, by their names."""
    command = [os.fspath(python), "-I", "-c", _ASK, *names]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"{python} does not run: {done.stderr.strip().splitlines()[-1:]}")
    torch, there = json.loads(done.stdout)
    return torch, there
