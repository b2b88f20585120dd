"""`outback doctor --fix`: removes stale builds from the cache, and others' rights to write there.

All of it can be had again by compiling. A build that a process makes at this moment is left alone:
what is removed, is removed with its lock held. No link is followed.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from .. import cache, cache_lock
from ..cache_key import Key
from ..refused import Refused
from . import cached_builds
from .cached_builds import Build
from .finding import size


def fix(key: Key | None) -> list[str]:
    """What was done, and what was left, in sentences."""
    try:
        root = cache.folder()
    except Refused:
        return []  # the examination says why
    try:
        if not root.is_dir():
            return []
        return [*_take_rights(root), *_remove_stale(root, key)]
    except OSError as error:
        return [f"{error.filename or root} was left as it is: {error.strerror}"]


def _take_rights(root: Path) -> Iterator[str]:
    """Of the folder itself, where it is this user's."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        facts = os.fstat(descriptor)
        if not cached_builds.is_open_to_others(facts):
            return
        mode = stat.S_IMODE(facts.st_mode)
        wanted = mode & ~(stat.S_IWGRP | stat.S_IWOTH)
        os.fchmod(descriptor, wanted)
    finally:
        os.close(descriptor)
    yield f"took the rights to write from others: {root}, mode {mode:o}, is {wanted:o} now"


def _remove_stale(root: Path, key: Key | None) -> Iterator[str]:
    # Where the folder itself is not trusted, that says nothing of what is in it.
    trusted = cached_builds.is_trusted(root)
    kinds = (*cached_builds.STALE, cached_builds.UNSAFE) if trusted else cached_builds.STALE
    for build in cached_builds.look(root, key):
        if build.kind in kinds:
            yield from _removed(root, build, key)


def _is_own(path: Path) -> bool:
    return os.lstat(path).st_uid == os.geteuid()


def _removed(root: Path, build: Build, key: Key | None) -> Iterator[str]:
    left = f"{build.path.name} was left: "
    try:
        if build.kind == cached_builds.UNSAFE and not _is_own(build.path):
            return
        with cache_lock.hold(root, build.name, wait=False):
            # Again, now that nobody else builds it: it may be whole by now.
            if cached_builds.kind_now(root, build, key) != build.kind:
                yield left + "it has changed meanwhile"
                return
            _remove(root, build.path)
    except BlockingIOError:
        yield left + "a process builds it now"
    except OSError as error:
        yield left + f"{error.filename or build.path}: {error.strerror}"
    else:
        yield f"removed {build.path.name}, {size(build.size)}: {build.kind}"


def _remove(root: Path, entry: Path) -> None:
    """The link before what it leads to, so that nobody finds half of it."""
    folder = cached_builds.contents(root, entry)
    if entry.is_symlink():
        entry.unlink()
    if folder is not None:
        shutil.rmtree(folder)
