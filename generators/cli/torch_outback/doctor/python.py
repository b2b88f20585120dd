"""The Python that runs this: which one, and whether extension modules can be built for it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from .. import variables
from .finding import NOTE, PROBLEM, Finding
from .installed import Installed

_SECTION = "python"


def findings(installed: Installed, here: Path | None) -> Iterator[Finding]:
    version = platform.python_version()
    yield Finding(_SECTION, "interpreter", f"Python {version}, {sys.executable}")
    if problem := _untested():
        yield Finding(
            _SECTION,
            "platform",
            problem,
            NOTE,
            "Outback is tested on Linux x86-64 with CPython and glibc: expect to be the first",
        )
    yield from _other_environment()
    yield _headers(bool(installed.backends))
    yield from hiding(here, installed) if here else [_deleted()]


def present_folder() -> Path | None:
    """None where it has been deleted under this process: then nothing can be started in it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _deleted() -> Finding:
    return Finding(
        _SECTION,
        "this folder",
        "the present folder has been deleted, and torch cannot be imported in it; what follows was "
        "tried in another",
        PROBLEM,
        "go to a folder that is there",
        "cd",
    )


def _untested() -> str:
    found = []
    if sys.implementation.name != "cpython":
        found.append(sys.implementation.name)
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        found.append("a free-threaded Python")
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        found.append(f"{sys.platform} on {platform.machine()}")
    if platform.libc_ver()[0] != "glibc":
        found.append("a C library that is not glibc")
    return ", ".join(found)


def _other_environment() -> Iterator[Finding]:
    """Somebody has activated one, and this is of another."""
    active = variables.text("VIRTUAL_ENV")
    if not active or Path(active).resolve() == Path(sys.prefix).resolve():
        return
    yield Finding(
        _SECTION,
        "environment",
        f"the active virtual environment is {active}, and this Python is of {sys.prefix}: all "
        f"that follows is about the second",
        NOTE,
        "for the active one, install torch-outback there and start it there",
        "python -m pip install torch-outback && python -m torch_outback doctor",
    )


def _headers(has_backend: bool) -> Finding:
    folder = Path(sysconfig.get_path("include"))
    if (folder / "Python.h").exists():
        return Finding(_SECTION, "headers", f"{folder}/Python.h")
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-dev"
    return Finding(
        _SECTION,
        "headers",
        f"there is no Python.h in {folder}, without which no backend can be built",
        NOTE if has_backend else PROBLEM,
        f"install the headers of this Python; Debian's package is {package} or python3-dev",
        f"apt-get install {package}" if shutil.which("apt-get") else "",
    )


def hiding(folder: Path, installed: Installed) -> Iterator[Finding]:
    """Programs that start in the present folder import what lies there first."""
    names = {entry.name for entry in os.scandir(folder)} if os.access(folder, os.R_OK) else set()
    for name in ("torch.py", "torch"):
        here = folder / name
        # A folder that may not be entered hides nothing.
        if name not in names or (here.is_dir() and not os.path.exists(here / "__init__.py")):
            continue
        if installed.torch_folder and here.resolve() == installed.torch_folder.resolve():
            continue
        yield Finding(
            _SECTION,
            "this folder",
            f"{here} hides the installed torch from `python -c` and `python -m` here",
            PROBLEM,
            "rename it, or start programs in another folder",
        )
    hidden = sorted(f"{name}.py" for name in sys.stdlib_module_names if f"{name}.py" in names)
    # Python's own library is such a folder too.
    if hidden and "os.py" not in hidden:
        yield Finding(
            _SECTION,
            "this folder",
            f"{', '.join(hidden)} in {folder} hides Python's own module of that name, which torch "
            f"may import",
            NOTE,
            "rename it, or start programs in another folder",
        )
