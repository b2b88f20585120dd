"""What only this process's user, or root, can have put at a path.

Whatever is loaded or linked from a cache runs as this user, and with what other rights the program
has; then it has to be root's. So each part of its path, from the root
of the file system on, has to be theirs, and nobody else may be able to replace the next one.
"""

import contextlib
import errno
import grp
import os
import pwd
import stat
from pathlib import Path

from . import variables
from .refused import Refused

_MOST_LINKS = 40  # the kernel's own limit
_ACCESS_LIST = "system.posix_acl_access"


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
        _check(here, os.fstat(here), place, sticky=True)
        while parts:
            name = parts.pop()
            found = step(name, here)
            facts = os.fstat(found)
            if not stat.S_ISLNK(facts.st_mode):
                here, place = found, place / name
                _check(here, facts, place, sticky=sticky or bool(parts))
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
    descriptor = open_trusted(path)
    try:
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    except OSError as error:  # which knows the descriptor alone
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        os.close(descriptor)


def size_of_trusted(path: Path) -> int:
    """Raises as `open_trusted`."""
    descriptor = open_trusted(path)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


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


def _check(opened: int, facts: os.stat_result, place: Path, sticky: bool) -> None:
    _check_owner(facts, place)
    mode = facts.st_mode
    # With an access list the group's bits are what anybody in the list may have at most.
    listed = bool(mode & stat.S_IWGRP) and _has_access_list(opened)
    for_group = mode & stat.S_IWGRP and (listed or not _is_own_group(facts.st_gid))
    if not mode & stat.S_IWOTH and not for_group:
        return
    if sticky and stat.S_ISDIR(mode) and mode & stat.S_ISVTX:
        return
    # One that is sticky is for everybody, as /tmp, and has to stay so.
    mended = "" if mode & stat.S_ISVTX else f"`chmod go-w {place}`, or "
    raise Refused(
        f"{place} can be written by others than you (mode {stat.S_IMODE(mode):o}"
        f"{' and an access list' if listed else ''}), so what is below it may be theirs: {mended}"
        f"name another folder with OUTBACK_CACHE_DIR"
    )


def _has_access_list(opened: int) -> bool:
    try:
        return bool(os.getxattr(f"/proc/self/fd/{opened}", _ACCESS_LIST))
    except OSError as error:
        # None, or a file system without any. What cannot be told counts as one.
        return error.errno not in (errno.ENODATA, errno.ENOTSUP)


def _check_owner(facts: os.stat_result, place: Path) -> None:
    # Who has lent the program its rights trusts nobody but root.
    user = 0 if variables.has_other_rights() else os.geteuid()
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
    # A group's list of members leaves out whose first group it is.
    members = {*found.gr_mem, *(it.pw_name for it in pwd.getpwall() if it.pw_gid == group)}
    return found.gr_name == user and members <= {user}
