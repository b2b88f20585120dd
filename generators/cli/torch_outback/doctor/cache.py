"""The cache of compiled torch halves: where it is, whose, how large, and what of it is stale."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from .. import cache, cache_key, trust
from ..cache_key import Key
from ..refused import Refused
from . import cached_builds
from .cached_builds import Build
from .finding import NOTE, OK, PROBLEM, Finding, one_line, size

_SECTION = "cache"
_FIX = "outback doctor --fix"
_ROOM = 512 << 20  # what a build needs at most
_MUCH = 1 << 30  # of what nobody needs any more


def present_key() -> Key | None:
    """What this Python's torch half would be called; None without a torch, or a usable CXX."""
    try:
        return cache_key.of_this_process()
    except (Refused, OSError, ValueError):
        return None


def findings(key: Key | None, has_backend: bool) -> Iterator[Finding]:
    try:
        root = cache.folder()
    except Refused as refused:
        yield Finding(
            _SECTION,
            "folder",
            str(refused),
            PROBLEM,
            "name an absolute path",
            "export OUTBACK_CACHE_DIR=/a/folder/of/yours",
        )
        return
    try:
        if not stat.S_ISDIR(root.stat().st_mode):
            yield _unmakable(f"{root} is no folder")
            return
        builds = cached_builds.look(root, key)
    except (FileNotFoundError, NotADirectoryError):
        yield _absent(root)
        return
    except OSError as error:
        yield Finding(
            _SECTION,
            "folder",
            f"{root} cannot be read: {error.strerror}",
            PROBLEM,
            "name another folder",
            "export OUTBACK_CACHE_DIR=/a/folder/of/yours",
        )
        return
    yield _folder(root, builds)
    yield from _present(root, builds, key, has_backend)
    if cached_builds.is_trusted(root):
        yield from _unsafe(builds)
    yield from _unreadable(builds, key)
    yield from _stale(builds)
    yield from _room(root, builds)


def _absent(root: Path) -> Finding:
    above = root
    while not os.path.lexists(above) and above != above.parent:
        above = above.parent
    if above.is_symlink() and not above.exists():
        return _unmakable(f"{above} is a link to what is not there")
    if os.access(above, os.W_OK | os.X_OK) and above.is_dir():
        return Finding(_SECTION, "folder", f"{root} is not there yet: the first build makes it")
    return _unmakable(f"{root} is not there, and cannot be made in {above}")


def _unmakable(why: str) -> Finding:
    return Finding(
        _SECTION,
        "folder",
        why,
        NOTE,
        "each project then compiles the torch half for itself; name another folder",
        "export OUTBACK_CACHE_DIR=/a/folder/of/yours",
    )


def _folder(root: Path, builds: list[Build]) -> Finding:
    facts = root.stat()
    named = (
        f"{root}: {_owner(facts.st_uid)}'s, mode {stat.S_IMODE(facts.st_mode):o}, {len(builds)} "
        f"builds, {size(sum(it.size for it in builds))}"
    )
    try:
        os.close(trust.open_trusted(root.absolute()))
    except (Refused, OSError) as why:
        mine = cached_builds.is_open_to_others(facts)
        return Finding(
            _SECTION,
            "folder",
            f"{named}; nothing is loaded from it: {why}",
            PROBLEM,
            "take the rights to write from others" if mine else "name a folder of your own",
            _FIX if mine else "export OUTBACK_CACHE_DIR=/a/folder/of/yours",
        )
    if not os.access(root, os.W_OK):
        advice = "it can be read, and what is missing in it is compiled by each project for itself"
        return Finding(_SECTION, "folder", f"{named}; you cannot write to it", NOTE, advice)
    return Finding(_SECTION, "folder", named)


def _present(
    root: Path, builds: list[Build], key: Key | None, has_backend: bool
) -> Iterator[Finding]:
    present = [it for it in builds if it.kind == cached_builds.PRESENT]
    if present:
        yield Finding(_SECTION, "torch half", f"{present[0].name}, {size(present[0].size)}")
    elif any(it.kind == cached_builds.BUSY and key and it.name == key.name for it in builds):
        yield Finding(_SECTION, "torch half", "a process builds it now")
    elif key is not None:
        text = "none for this torch, Python and compiler: the first build takes a minute or two"
        yield Finding(_SECTION, "torch half", text, OK, "to have it ahead of time", "outback build")
    if not present and not has_backend and (root / "build.log").exists():
        text = f"{root / 'build.log'} is of a build that failed"
        yield Finding(_SECTION, "build.log", text, NOTE, "its last lines say why")


def _unsafe(builds: list[Build]) -> Iterator[Finding]:
    """One line for all: where the cache itself is refused, each of them is."""
    unsafe = [it for it in builds if it.kind == cached_builds.UNSAFE]
    if unsafe:
        yield Finding(
            _SECTION,
            "rights",
            one_line(f"{len(unsafe)} builds are not loaded: {unsafe[0].why}"),
            PROBLEM,
            "remove what others could have changed",
            _FIX,
        )


def _unreadable(builds: list[Build], key: Key | None) -> Iterator[Finding]:
    unreadable = [it for it in builds if it.kind == cached_builds.UNREADABLE]
    if unreadable:
        wanted = any(key and it.name == key.name for it in unreadable)
        yield Finding(
            _SECTION,
            "reading",
            one_line(f"{len(unreadable)} builds cannot be read: {unreadable[0].why}"),
            PROBLEM if wanted else NOTE,
            "let whoever they belong to remove them",
        )


def _stale(builds: list[Build]) -> Iterator[Finding]:
    stale = [it for it in builds if it.kind in cached_builds.STALE]
    if not stale:
        return
    kinds = dict.fromkeys(it.kind for it in stale)
    counts = "; ".join(f"{sum(it.kind == kind for it in stale)} {kind}" for kind in kinds)
    total = sum(it.size for it in stale)
    # A present build that is damaged would be built again without a word, which takes a minute.
    yield Finding(
        _SECTION,
        "stale builds",
        f"{len(stale)}, {size(total)}: {counts}",
        NOTE,
        "they are of no use: remove them"
        if total > _MUCH
        else "they are of no use, and do no harm",
        _FIX,
    )


def _room(root: Path, builds: list[Build]) -> Iterator[Finding]:
    free = shutil.disk_usage(root).free
    if free < _ROOM and not any(it.kind == cached_builds.PRESENT for it in builds):
        yield Finding(
            _SECTION,
            "disk",
            f"{size(free)} are free, and a build needs up to {size(_ROOM)}",
            PROBLEM,
            "make room, or name a folder on another disk",
            "export OUTBACK_CACHE_DIR=/a/folder/of/yours",
        )


def _owner(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
