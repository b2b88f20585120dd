"""Which files of a folder are a project's sources: C++ and Python, without what builds make, and
what `outback new` made and nobody has edited since: `outback update` brings that up to date."""

from __future__ import annotations

import errno
import filecmp
import importlib.util
import os
from dataclasses import dataclass, field
from pathlib import Path

from ... import new
from ...refused import Refused

_CPP = {".c", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hpp", ".inc", ".inl", ".mm"}
_PYTHON = {".py", ".pyi"}
_NOT_SOURCES = {"__pycache__", "build", "dist", "node_modules", "site-packages"}
_MARKS = ("pyvenv.cfg", "CMakeCache.txt")  # of a virtual environment, of a build tree
_LARGEST = 4 << 20  # bytes; larger ones are generated


@dataclass(frozen=True)
class Source:
    """`name` is relative to the project's folder."""

    name: str
    text: str


@dataclass(frozen=True)
class Sources:
    """`unread` says why the files, by their names, are in neither list."""

    cpp: list[Source] = field(default_factory=list)
    python: list[Source] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)


def read(folder: Path) -> Sources:
    """Refused where there is none. Links to folders are not followed."""
    if not folder.is_dir():
        raise Refused(f"{folder} is no folder: --project names the folder of a project's sources")
    found = Sources()

    def keep_error(error: OSError) -> None:
        found.unread[_name(folder, Path(error.filename))] = error.strerror or str(error)

    for place, folders, names in os.walk(folder, onerror=keep_error):
        folders[:] = sorted(it for it in folders if _has_sources(Path(place, it)))
        for name in sorted(names):
            file = Path(place, name)
            if file.suffix not in _CPP | _PYTHON or not file.is_file():
                continue
            name = _name(folder, file)
            if _is_as_it_was_made(folder, name):
                continue
            into = found.cpp if file.suffix in _CPP else found.python
            try:
                into.append(Source(name, _text(file)))
            except OSError as error:
                found.unread[name] = error.strerror or str(error)
            except (
                SyntaxError,
                LookupError,
                UnicodeError,
            ) as error:  # of an encoding, too
                found.unread[name] = str(error)
    if not (found.cpp or found.python or found.unread or (folder / new.PRISTINE).is_dir()):
        raise Refused(f"{folder} has no sources: no file of C++ or Python is in it")
    return found


def _is_as_it_was_made(project: Path, name: str) -> bool:
    made = project / new.PRISTINE / name
    return made.is_file() and filecmp.cmp(made, project / name, shallow=False)


def _has_sources(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in _NOT_SOURCES:
        return False
    return not any((folder / mark).exists() for mark in _MARKS)


def _name(project: Path, file: Path) -> str:
    return file.relative_to(project).as_posix()


def _text(file: Path) -> str:
    """Of C++, whatever its encoding: names are ASCII. Python says its own."""
    if file.stat().st_size > _LARGEST:
        raise OSError(errno.EFBIG, f"it has more than {_LARGEST >> 20} MB")
    content = file.read_bytes()
    if file.suffix in _PYTHON:
        return importlib.util.decode_source(content)
    return content.decode(errors="replace").replace("\r\n", "\n")
