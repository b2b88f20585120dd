"""The sources of a project: all that a half is compiled of, by their names and contents.

Each file of the project's folder is one, whoever reads it, but for build/, dist/, hidden files, all
that git ignores, logs, and the file that this command's own output goes to (`outback wheel . > o`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..refused import Refused

# Made by tools in any folder, and by builds in the project's own.
_MADE = {"__pycache__", "node_modules"}
_MADE_AT_THE_TOP = {"build", "dist", "wheelhouse"}
_NO_SOURCES = {".log", ".pyc", ".whl"}


@dataclass(frozen=True)
class Sources:
    """`digests` by the names in the project's folder; `release` is what git says of a version that
    comes from it, else ""."""

    digests: Mapping[str, str]
    release: str = ""

    @cached_property
    def hash(self) -> str:
        lines = (f"{name}\0{digest}\n" for name, digest in self.digests.items())
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()

    def differences(self, later: Sources) -> list[str]:
        """The files that were changed, added or removed."""
        names = sorted({*self.digests, *later.digests})
        found = [it for it in names if self.digests.get(it) != later.digests.get(it)]
        return found + (["git's release"] if self.release != later.release else [])


def read(folder: Path, without: Sequence[Path] = (), is_released_by_git: bool = False) -> Sources:
    """Of the project in `folder`; those `without` are its command's own. Raises Refused."""
    digests = {}
    for file in _files(folder, {it.resolve() for it in without}, _ignored(folder)):
        try:
            content = file.read_bytes()
        except FileNotFoundError:  # meanwhile
            continue
        except OSError as error:
            raise Refused(f"{file} cannot be read: {error.strerror}") from None
        digests[str(file.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return Sources(digests, _release(folder) if is_released_by_git else "")


def _files(folder: Path, without: set[Path], ignored: set[Path]) -> list[Path]:
    """In an order that is the same everywhere."""
    own = (_identity(1), _identity(2), None)
    return [it for it in _walk(folder, without, ignored) if _identity(it) not in own]


def _walk(folder: Path, without: set[Path], ignored: set[Path]) -> Iterator[Path]:
    """Links to folders are followed, each folder once."""
    seen = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        here = Path(place)
        if here.resolve() in seen:
            folders.clear()
            continue
        seen.add(here.resolve())
        made = _MADE | _MADE_AT_THE_TOP if here == folder else _MADE
        folders[:] = sorted(
            name
            for name in folders
            if name not in made
            and not name.startswith(".")
            and not name.endswith(".egg-info")
            and not (here / name / "pyvenv.cfg").exists()
            and (here / name).resolve() not in without
            and here / name not in ignored
        )
        files = (here / name for name in sorted(names))
        yield from (it for it in files if _is_source(it) and it not in ignored)


def _is_source(file: Path) -> bool:
    """A git clone's .git may be a file; a link may lead nowhere."""
    return file.is_file() and not file.name.startswith(".") and file.suffix not in _NO_SOURCES


def _identity(file: Path | int) -> tuple[int, int] | None:
    """None where it is gone, or a descriptor is closed."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


# ---- git, where it is, and where the project is in a clone


def _ignored(folder: Path) -> set[Path]:
    """Files, and folders as a whole."""
    asked = ("--others", "--ignored", "--exclude-standard", "--directory")
    names, error = _git(folder, "ls-files", "-z", *asked)
    if error and "not a git repository" not in error:
        raise Refused(f"git does not say what it ignores in {folder}: {' '.join(error.split())}")
    found = {folder / name for name in names.split("\0") if name}
    # Of a project that lies in an ignored folder of somebody else's clone, git knows nothing.
    return set() if folder in found else found


def _release(folder: Path) -> str:
    """What setuptools_scm makes a version of; "" before the first commit."""
    words = ("--dirty", "--tags", "--long", "--always", "--match=*[0-9]*")
    return _git(folder, "describe", *words)[0]


def _git(folder: Path, *words: str) -> tuple[str, str]:
    """What it says, and why it fails, in English; "" for both where there is no git."""
    if shutil.which("git") is None:
        return "", ""
    # Of a hook, say, which is about another clone.
    ours = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", os.fspath(folder), *words]
    done = subprocess.run(command, capture_output=True, env={**ours, "LC_ALL": "C"})
    if done.returncode:
        return "", os.fsdecode(done.stderr) or f"it ended with {done.returncode}"
    return os.fsdecode(done.stdout), ""
