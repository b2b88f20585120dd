"""The sources of a project, and what of torch they name: read when something of it is asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from . import files, python
from .cpp import CppSources, Derived
from .python import PythonClass


class Project:
    """Refused where the folder has no sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        found = files.read(folder)
        self.unread = found.unread  # which grows as more is read
        self.cpp = CppSources(found.cpp, self.unread)
        self.python = python.read(found.python, self.unread)

    def cpp_derived_from(self, interfaces: Iterable[str]) -> list[Derived]:
        """Also those that derive from such a class of the project. A base that is written without
        its whole namespace is taken for the interface, unless the project has such a class."""
        wanted = set(interfaces)
        found: list[Derived] = []
        left = list(self.cpp.derived)
        while True:
            new = [it for it in left if any(self._is(base, wanted) for base in it.found.bases)]
            if not new:
                return found
            found += new
            left = [it for it in left if it not in new]
            wanted |= {it.found.name for it in new}

    @cached_property
    def _own_classes(self) -> dict[str, set[str]]:
        """Whole names of the project's derived classes, by each of their ends."""
        found: dict[str, set[str]] = defaultdict(set)
        for it in self.cpp.derived:
            parts = it.found.name.split("::")
            for at in range(len(parts)):
                found["::".join(parts[at:])].add(it.found.name)
        return found

    def _is(self, base: str, wanted: set[str]) -> bool:
        if base in wanted:
            return True
        if self._own_classes.get(base, set()) - wanted:
            return False
        return any(name.endswith(f"::{base}") for name in wanted)

    def python_derived_from(self, paths: Iterable[str]) -> list[PythonClass]:
        """Also those that derive from such a class of the project."""
        wanted = set(paths)
        found = [it for it in self.python.classes if wanted.intersection(it.bases)]
        for base in found:  # which grows
            for it in self.python.classes:
                if base.is_base_of(it) and it not in found:
                    found.append(it)
        return found
