"""Which files of a folder are a project's sources: C++ and Python, without what builds make."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

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


def read(folder: Path) -> tuple[list[Source], list[Source]]:
    """C++ and Python. Refused where there is neither. Links to folders are not followed."""
    if not folder.is_dir():
        raise Refused(f"{folder} is no folder: --project names the folder of a project's sources")
    cpp: list[Source] = []
    python: list[Source] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(it for it in folders if _has_sources(Path(place, it)))
        for name in sorted(names):
            suffix = os.path.splitext(name)[1]
            into = cpp if suffix in _CPP else python if suffix in _PYTHON else None
            if into is not None and (source := _source(folder, Path(place, name))):
                into.append(source)
    if not cpp and not python:
        raise Refused(f"{folder} has no sources: no file of C++ or Python is in it")
    return cpp, python


def _has_sources(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in _NOT_SOURCES:
        return False
    return not any((folder / mark).exists() for mark in _MARKS)


def _source(project: Path, file: Path) -> Source | None:
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        text = file.read_bytes().decode(errors="replace").replace("\r\n", "\n")
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}") from None
    return Source(file.relative_to(project).as_posix(), text)
