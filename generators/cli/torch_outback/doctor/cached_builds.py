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

from .. import cache, trust
from ..cache_key import Key
from ..refused import Refused

PRESENT = "the one for this torch"
OTHER = "for another torch, Python, compiler or Outback"
LEFT = "left by a build that was killed or replaced"
HALF = "not whole"
UNSAFE = "others could have changed it"
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
    why: str = ""  # of one that others could have changed


def look(root: Path, key: Key | None, held: str = "") -> list[Build]:
    """`key` is None where there is no torch, or none that can be told; `held` is the key whose lock
    the caller has.
    """
    entries = sorted(root.iterdir()) if root.is_dir() else []
    linked = {cache.link_target(entry).parts[:1] for entry in entries if entry.is_symlink()}
    found = []
    for entry in entries:
        if cache.is_scratch(entry):
            if (entry.name,) not in linked:
                name = entry.name.partition(cache.MARK)[0]
                kind = BUSY if name != held and is_busy(root, name) else LEFT
                found.append(Build(name, entry, kind, _size(entry)))
        elif _NAME.fullmatch(entry.name) and (entry.is_symlink() or entry.is_dir()):
            found.append(_build(root, entry, key, held))
    return found


def is_trusted(root: Path) -> bool:
    """Whether anything is loaded from there at all."""
    try:
        os.close(trust.open_trusted(root.absolute()))
    except (Refused, OSError):
        return False
    return True


def _build(root: Path, entry: Path, key: Key | None, held: str) -> Build:
    kind, why = HALF, ""
    try:
        with _unread(entry / cache.SEAL) as age:
            whole = cache.is_whole(entry)
        if whole:
            kind = _of_whole(entry, key, age)
        elif entry.name != held and is_busy(root, entry.name):
            kind = BUSY
    except Refused as refused:
        kind, why = UNSAFE, str(refused)
    folder = contents(root, entry)
    return Build(entry.name, entry, kind, _size(folder) if folder else 0, why)


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
    """The folder in `root` that an entry stands for; None where it leads elsewhere."""
    if not entry.is_symlink():
        return entry
    parts = cache.link_target(entry).parts
    folder = root / parts[0] if parts and parts[0] not in ("/", "..") else None
    return folder if folder is not None and cache.is_scratch(folder) else None


def is_busy(root: Path, name: str) -> bool:
    """Whether a process builds it: that one holds the lock."""
    if not (root / f"{name}.lock").exists():
        return False
    try:
        from filelock import Timeout
    except ImportError:  # torch brings it, and without torch nothing is built
        return False
    try:
        with cache.lock(root, name, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # it is another user's, and cannot be opened
        return True


def _size(path: Path) -> int:
    total = 0
    for place, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:  # it goes while this looks
                continue
    return total


def others_may_write(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH))
