"""What only this process's user, or root, can have put at a path.

Whatever is loaded or linked from a cache runs as this user. So each part of its path, from the root
of the file system on, has to be theirs, and nobody else may be able to replace the next one.
"""

import contextlib
import grp
import os
import pwd
import stat
from pathlib import Path

from .refused import Refused

_MOST_LINKS = 40  # the kernel's own limit


def open_trusted(path: Path, sticky: bool = False) -> int:
    """A descriptor, for reading, of the file or folder at `path`, which is absolute.

    Raises Refused where anybody else could have put it there, and OSError where it cannot be
    opened. `sticky`: a folder like /tmp will do, in which others cannot touch what is this user's.

    Each part is opened by its descriptor, without following it, before it is looked at: nobody can
    exchange it in between. As only the user and root could exchange it later, its path may be used
    after this.
    """
    parts = list(reversed(path.parts[1:]))
    with contextlib.ExitStack() as opened:  # a path has some ten parts

        def step(name: str, folder: int | None = None) -> int:
            found = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)
            opened.callback(os.close, found)
            return found

        here, place, links = step("/"), Path("/"), 0
        _check(os.fstat(here), place, sticky=True)
        while parts:
            name = parts.pop()
            found = step(name, here)
            facts = os.fstat(found)
            if not stat.S_ISLNK(facts.st_mode):
                here, place = found, place / name
                _check(facts, place, sticky=sticky or bool(parts))
                continue
            _check_owner(facts, place / name)  # who made it decides where it leads
            links += 1
            if links > _MOST_LINKS:
                raise Refused(f"{path} leads through more than {_MOST_LINKS} symbolic links")
            target = Path(os.readlink("", dir_fd=found))
            if target.is_absolute():
                here, place = step("/"), Path("/")
            parts += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        return os.open(f"/proc/self/fd/{here}", os.O_RDONLY | os.O_NONBLOCK)


def read_trusted(path: Path) -> bytes:
    """Raises as `open_trusted`."""
    with open(open_trusted(path), "rb") as file:
        return file.read()


def make_private(folder: Path) -> None:
    """Makes `folder`, and those above it that are missing, for this user alone.

    Raises as `open_trusted`, for a folder that was there too.
    """
    missing = []
    above = folder
    while not above.exists():
        missing.append(above)
        above = above.parent
    os.close(open_trusted(above, sticky=bool(missing)))
    for each in reversed(missing):
        try:
            each.mkdir(mode=0o700)
        except FileExistsError:  # another process of this user's was faster
            continue
    os.close(open_trusted(folder))


def _check(facts: os.stat_result, place: Path, sticky: bool) -> None:
    _check_owner(facts, place)
    mode = facts.st_mode
    others = mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_own_group(facts.st_gid))
    if not others or (sticky and stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return
    raise Refused(
        f"{place} can be written by others than you (mode {stat.S_IMODE(mode):o}), so what is "
        f"below it may be theirs: `chmod go-w {place}`, or name another folder with "
        f"OUTBACK_CACHE_DIR"
    )


def _check_owner(facts: os.stat_result, place: Path) -> None:
    user = os.geteuid()
    if facts.st_uid not in (0, user):
        owners = "root's" if user == 0 else f"{_name_of(user)}'s or root's"
        raise Refused(
            f"{place} belongs to {_name_of(facts.st_uid)}: what is loaded from there has to be "
            f"{owners}; name another folder with OUTBACK_CACHE_DIR"
        )


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _is_own_group(group: int) -> bool:
    """A group for this user alone, as many systems make one for each of their users."""
    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user and set(found.gr_mem) <= {user}
