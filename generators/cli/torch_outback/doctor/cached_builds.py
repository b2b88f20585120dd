"""What lies in the cache of compiled torch halves: the present one, others, and what is stale."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import cache, cache_lock, trust
from ..cache_key import Key
from ..refused import Refused

PRESENT = "the one for this torch"
OTHER = "for another torch, Python, compiler or Outback"
LEFT = "left by a build that was killed or replaced"
HALF = "not whole"
UNSAFE = "others could have changed it"
UNREADABLE = "it cannot be read"
SUPERSEDED = "for other sources or headers of this Outback and this torch"
UNUSED = "for another torch, Python or Outback, and not read for a month"
BUSY = "being built"
STALE = (LEFT, HALF, SUPERSEDED, UNUSED)

_DAY = 24 * 3600.0
# Several checkouts and environments share a cache, and a file system notes reads once a day.
_SUPERSEDED_AFTER, _UNUSED_AFTER = 2 * _DAY, 30 * _DAY
_NAME = re.compile(r"[0-9.]+-torch-[^~/]+")


@dataclass(frozen=True)
class Build:
    """`name` is the key that its lock has, and `path` the link or the folder."""

    name: str
    path: Path
    kind: str
    size: int
    why: str = ""  # of one that others could have changed, or that cannot be read


def look(root: Path, key: Key | None) -> list[Build]:
    """`key` is None where there is no torch, or none that can be told."""
    entries = sorted(root.iterdir()) if root.is_dir() else []
    linked = {cache.link_target(entry).parts[:1] for entry in entries if entry.is_symlink()}
    found = []
    for entry in entries:
        if cache.is_scratch(entry):
            if (entry.name,) not in linked:
                name = entry.name.partition(cache.MARK)[0]
                kind = BUSY if cache_lock.is_held(root, name) else LEFT
                found.append(Build(name, entry, kind, _size(entry)))
        elif _is_named(entry):
            kind, why = _kind(entry, key)
            if kind == HALF and cache_lock.is_held(root, entry.name):
                kind = BUSY
            folder = contents(root, entry)
            found.append(Build(entry.name, entry, kind, _size(folder) if folder else 0, why))
    return found


def kind_now(root: Path, build: Build, key: Key | None) -> str:
    """Of what was found before, now that its lock is held; "" where it is in use, or gone."""
    if cache.is_scratch(build.path):
        target = cache.link_target(root / build.name)
        return "" if target.parts[:1] == (build.path.name,) else LEFT
    return _kind(build.path, key)[0] if _is_named(build.path) else ""


def is_trusted(root: Path) -> bool:
    """Whether anything is loaded from there at all."""
    try:
        os.close(trust.open_trusted(root.absolute()))
    except (Refused, OSError):
        return False
    return True


def _is_named(entry: Path) -> bool:
    if entry.suffix == ".lock" or not _NAME.fullmatch(entry.name):
        return False
    return entry.is_symlink() or entry.is_dir()


def _kind(entry: Path, key: Key | None) -> tuple[str, str]:
    """And why, where that is not plain."""
    try:
        with _unread(entry / cache.SEAL) as age:
            whole = cache.is_whole(entry)
    except Refused as refused:
        return UNSAFE, str(refused)
    except OSError as error:
        return UNREADABLE, f"{entry}: {error.strerror}"
    return (_of_whole(entry, key, age) if whole else HALF), ""


def _of_whole(entry: Path, key: Key | None, age: float) -> str:
    if key is not None:
        if entry.name == key.name or (key.compiler is None and entry.name.startswith(key.fixed)):
            return PRESENT
        # All but the hash of contents: the versions of Outback, torch and Python.
        same = key.fixed.rpartition("-")[0]
        if entry.name.startswith(f"{same}-") and not entry.name.startswith(f"{key.fixed}-"):
            return SUPERSEDED if age > _SUPERSEDED_AFTER else OTHER
    return UNUSED if age > _UNUSED_AFTER else OTHER


@contextlib.contextmanager
def _unread(file: Path) -> Iterator[float]:
    """Seconds since somebody has read it, as far as the file system notes that; whoever looks here
    is nobody who uses it, so that this stays as it was.
    """
    try:
        facts = file.stat()
    except OSError:  # none; what is not whole has no age
        yield 0.0
        return
    try:
        yield time.time() - max(facts.st_atime, facts.st_mtime)
    finally:
        with contextlib.suppress(OSError):  # of another user's, it is the file system's business
            os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def contents(root: Path, entry: Path) -> Path | None:
    """The folder in `root` that was made for an entry; None where it leads elsewhere."""
    if not entry.is_symlink():
        return entry
    folder = root.joinpath(*cache.link_target(entry).parts[:1])
    is_its_own = folder.name.startswith(f"{entry.name}{cache.MARK}")
    return folder if is_its_own and cache.is_scratch(folder) else None


def _size(path: Path) -> int:
    total = 0
    for place, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:  # it goes while this looks
                continue
    return total


def is_open_to_others(facts: os.stat_result) -> bool:
    """Whether the cache's folder is this user's, and others may write to it, which can be mended.

    A folder like /tmp is everybody's on purpose.
    """
    for_others = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return bool(for_others) and not facts.st_mode & stat.S_ISVTX and facts.st_uid == os.geteuid()
