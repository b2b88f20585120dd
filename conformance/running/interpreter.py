"""How every Python that `outback` starts is started: nothing is imported from the current folder.

Python puts the current folder first for `-c` and `-m`: a file json.py there, which another user may
have put into it, would run. `-P` says that it shall not, from Python 3.11 on, also to what
multiprocessing starts; the first statement of the program says it on 3.10. What PYTHONPATH names is
searched, in its order, and so is what the user has installed.

Only this file names sys.executable as a program; a test searches the sources for others.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

# `sys` is a part of the interpreter. A path of "" is the current folder, whichever it is then.
NO_CURRENT_FOLDER = "import sys; sys.path[:] = [it for it in sys.path if it]\n"
_ASKS_FOR_IT = ["-P"] if sys.version_info >= (3, 11) else []

# The package of `module` is that of this process, wherever it is; all else is searched as the
# environment says, so that PYTHONPATH stands before what is installed.
_RUN = """
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
spec = PathFinder.find_spec(sys.argv[1].partition(".")[0], [sys.argv.pop(2)])
package = sys.modules[spec.name] = module_from_spec(spec)
spec.loader.exec_module(package)
from runpy import run_module
run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def command(module: str, *arguments: str) -> list[str]:
    """Runs `module` of this process's package as the program of a new Python."""
    top = sys.modules[module.partition(".")[0]]
    folder = Path(top.__file__ or "").resolve().parents[1]
    return program(_RUN, module, os.fspath(folder), *arguments)


def program(text: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """Runs the source `text`, with options of Python's."""
    return [sys.executable, *_ASKS_FOR_IT, *options, "-c", NO_CURRENT_FOLDER + text, *arguments]


def isolated(script: Path, *arguments: str) -> list[str]:
    """Runs a file that needs the standard library alone."""
    return [sys.executable, "-I", "-S", os.fspath(script), *arguments]


def as_given(*arguments: str) -> list[str]:
    """Runs what a user asks for, as Python itself does: a script's folder, and the current one for
    a module, are searched first."""
    return [sys.executable, *arguments]


def path() -> Path:
    """Of this Python, for a build to find it, or to make an environment of its release."""
    return Path(sys.executable)
