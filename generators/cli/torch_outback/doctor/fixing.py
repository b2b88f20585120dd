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

from .. import cache
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
    if not root.is_dir():
        return []
    try:
        return [*_take_rights(root), *_remove_stale(root, key)]
    except OSError as error:
        return [f"{error.filename or root} was left as it is: {error.strerror}"]


def _take_rights(root: Path) -> Iterator[str]:
    """Of the folder itself, where it is this user's."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        facts = os.fstat(descriptor)
        mode = stat.S_IMODE(facts.st_mode)
        wanted = mode & ~(stat.S_IWGRP | stat.S_IWOTH)
        if mode == wanted or facts.st_uid != os.geteuid():
            return
        os.fchmod(descriptor, wanted)
    finally:
        os.close(descriptor)
    yield f"took the rights to write from others: {root}, mode {mode:o}, is {wanted:o} now"


def _remove_stale(root: Path, key: Key | None) -> Iterator[str]:
    # Where the folder itself is not trusted, that says nothing of what is in it.
    trusted = cached_builds.is_trusted(root)
    for build in cached_builds.look(root, key):
        unsafe = trusted and build.kind == cached_builds.UNSAFE and _is_own(build.path)
        if build.kind in cached_builds.STALE or unsafe:
            yield _removed(root, build, key)


def _is_own(path: Path) -> bool:
    return os.lstat(path).st_uid == os.geteuid()


def _removed(root: Path, build: Build, key: Key | None) -> str:
    left = f"{build.path.name} was left: "
    try:
        from filelock import Timeout
    except ImportError:
        return left + "without torch, which brings filelock, nobody knows whether it is built now"
    try:
        with cache.lock(root, build.name, timeout=0):
            # Again, now that nobody else builds it: it may be whole by now.
            now = cached_builds.look(root, key, held=build.name)
            again = {it.path: it.kind for it in now}
            if again.get(build.path) != build.kind:
                return left + "it has changed meanwhile"
            _remove(root, build.path)
    except Timeout:
        return left + "a process builds it now"
    except OSError as error:
        return left + f"{error.filename or build.path}: {error.strerror}"
    return f"removed {build.path.name}, {size(build.size)}: {build.kind}"


def _remove(root: Path, entry: Path) -> None:
    """The link before what it leads to, so that nobody finds half of it."""
    folder = cached_builds.contents(root, entry)
    if entry.is_symlink():
        entry.unlink()
    if folder is not None:
        shutil.rmtree(folder)
