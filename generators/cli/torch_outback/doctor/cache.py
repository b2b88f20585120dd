"""The cache of compiled torch halves: where it is, whose, how large, and whether it can be used."""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from .. import cache, cache_key, cache_lock, trust
from ..cache_key import Key
from ..refused import Refused
from .finding import NOTE, PROBLEM, Finding, one_line, size

_SECTION = "cache"
_ELSEWHERE = "export OUTBACK_CACHE_DIR=/a/folder/of/yours"
_ROOM = 512 << 20  # what a build needs at most


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
        yield _found("folder", str(refused), PROBLEM, "name an absolute path", _ELSEWHERE)
        return
    try:
        if not stat.S_ISDIR(root.stat().st_mode):
            yield _unmakable(f"{root} is no folder")
            return
        os.listdir(root)
    except (FileNotFoundError, NotADirectoryError):
        yield _absent(root)
        return
    except OSError as error:
        said = f"{root} cannot be read: {error.strerror}"
        yield _found("folder", said, PROBLEM, "name another folder", _ELSEWHERE)
        return
    folder = _folder(root)
    yield folder
    if folder.status != PROBLEM:  # else each build in it would say the same
        yield from _torch_half(root, key, has_backend)


def _found(name: str, found: str, status: str, advice: str, command: str = "") -> Finding:
    return Finding(_SECTION, name, one_line(found), status, advice, command)


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
    advice = "each project then compiles the torch half for itself; name another folder"
    return _found("folder", why, NOTE, advice, _ELSEWHERE)


def _folder(root: Path) -> Finding:
    facts = root.stat()
    builds = sum(cache.MARK not in entry.name and entry.is_dir() for entry in root.iterdir())
    mode = stat.S_IMODE(facts.st_mode)
    named = f"{root}: {_owner(facts.st_uid)}'s, mode {mode:o}, {builds} builds, {size(_size(root))}"
    try:
        os.close(trust.open_trusted(root.absolute()))
    except (Refused, OSError) as why:
        # A folder like /tmp is everybody's on purpose.
        mine = mode & 0o022 and not mode & stat.S_ISVTX and facts.st_uid == os.geteuid()
        advice = "take the rights to write from others" if mine else "name a folder of your own"
        command = f"chmod go-w {root}" if mine else _ELSEWHERE
        return _found(
            "folder", f"{named}; nothing is loaded from it: {why}", PROBLEM, advice, command
        )
    if not os.access(root, os.W_OK):
        advice = "it can be read, and what is missing in it is compiled by each project for itself"
        return _found("folder", f"{named}; you cannot write to it", NOTE, advice)
    return Finding(_SECTION, "folder", named)


def _torch_half(root: Path, key: Key | None, has_backend: bool) -> Iterator[Finding]:
    there = None
    name = key.fixed if key is not None else ""
    try:
        there = cache.found(root, key) if key is not None else None
    except Refused as refused:
        advice = "remove what others could have changed: it is built again"
        command = f"rm -r {shlex.quote(str(root / name))}*"
        yield _found("torch half", str(refused), PROBLEM, advice, command)
    except OSError as error:
        said = f"{error.filename or root}: {error.strerror}"
        advice = "let whoever it belongs to remove it"
        yield _found("torch half", f"cannot be read: {said}", PROBLEM, advice)
    else:
        if there is not None:
            said = f"{there.name}, {size(_size(there.resolve()))}"
            yield Finding(_SECTION, "torch half", said)
        elif key is not None and cache_lock.is_held(root, key.name):
            yield Finding(_SECTION, "torch half", "a process builds it now")
        elif key is not None:
            text = "none for this torch, Python and compiler: the first build takes a minute or two"
            yield Finding(_SECTION, "torch half", text)
    if there is None and not has_backend and (root / "build.log").exists():
        text = f"{root / 'build.log'} is of a build that failed"
        yield _found("build.log", text, NOTE, "its last lines say why")
    free = shutil.disk_usage(root).free
    if there is None and free < _ROOM:
        text = f"{size(free)} are free, and a build needs up to {size(_ROOM)}"
        advice = "make room, or name a folder on another disk"
        yield _found("disk", text, PROBLEM, advice, _ELSEWHERE)


def _size(path: Path) -> int:
    total = 0
    for place, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:  # it goes while this looks
                continue
    return total


def _owner(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
