"""The folder .pack, which git ignores: what a machine without a network is likely to lack."""

import shutil
import tempfile
from pathlib import Path

from .. import console, shell
from ..environment import Environment
from ..paths import ROOT

PACK = ROOT / ".pack"
PYTHON = PACK / "python"
# What CMake looks for with find_package, and what those packages refer to, by Debian's names.
_DEBIAN = ("libfmt-dev", "libfmt9", "libgtest-dev", "libgmock-dev")
_BENCHMARK = ("libbenchmark-dev", "libbenchmark1debian")
# Nothing that is compiled for one release of Python.
_PYTHON = ("expecttest", "pytest-xdist", "execnet")


def pack(environment: Environment) -> int:
    """Fills the folder anew, from Debian's packages and PyPI."""
    shutil.rmtree(PACK, ignore_errors=True)
    with console.step("pack") as step, tempfile.TemporaryDirectory() as folder:
        names = (*_DEBIAN, *_BENCHMARK)
        # apt-get hands the download to another user, unless it is told that root will do.
        apt = ["apt-get", "-o", "APT::Sandbox::User=root", "download", *names]
        shell.run("pack", apt, cwd=Path(folder))
        for package in sorted(Path(folder).glob("*.deb")):
            shell.run("pack", ["dpkg", "-x", package, PACK], append=True)
        pip = [environment.python, "-m", "pip", "install", "--no-deps", "--target", PYTHON]
        shell.run("pack", [*pip, *_PYTHON], append=True)
        step.note = f"take {PACK.name} along with the tree"
    return 0


def definitions() -> list[str]:
    """For CMake."""
    folders = ";".join(str(folder) for folder in sorted(PACK.glob("usr/lib/*/cmake")))
    return [f"CMAKE_PREFIX_PATH={folders}"] if folders else []
