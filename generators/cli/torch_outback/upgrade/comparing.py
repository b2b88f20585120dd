"""Compares two releases, and finds the project's lines."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..refused import Refused
from . import release
from .change import Change, in_order
from .project import Project
from .py import trees
from .release import Release
from .sections import (
    deprecations,
    device_module,
    headers,
    operators,
    opinfo,
    python_classes,
    python_names,
    stubs,
    virtuals,
)
from .surface import Surface

_COMPARED = (
    *(virtuals, python_classes, device_module, operators, stubs, opinfo),
    *(deprecations, headers, python_names),
)


@dataclass(frozen=True)
class Report:
    """`unread` says why files of the project, by their names, were not read."""

    old: Release
    new: Release
    project: Path
    seconds: float
    changes: list[Change]
    unread: dict[str, str]


def compare(old_place: str, new_place: str, folder: Path) -> Report:
    """Refused where one of the places has no torch, NEW is older than OLD, or the folder has no
    sources."""
    started = time.monotonic()
    project = folder.resolve()
    with _without_collector():
        old, new = release.read(old_place), release.read(new_place)
        if release.is_older(new, old):
            raise Refused(
                f"OLD is torch {old.version} and NEW is torch {new.version}, which is older: give "
                f"the older release first"
            )
        surface = Surface(old, new, Project(project))
        found = [it for section in _COMPARED for it in section.changes(surface)]
    seconds = time.monotonic() - started
    unread = dict(sorted(surface.project.unread.items()))
    return Report(old, new, project, seconds, in_order(found), unread)


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Syntax trees are millions of objects and have no cycles: the collector of garbage would take
    more time than all else."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        trees.forget()
        if was_enabled:
            gc.enable()
