"""Writes a file whole, at a path where other users of the machine may have put something.

Each part of a path is opened by itself, and the file's folder is held open while it is written, so
that nobody can exchange it in between. A symbolic link is followed only if this user or root made
it. What is written gets an unguessable name of its own in that folder, and then the file's name.

The backend has a copy of this file, since it works without this package; a test compares both.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator

_MOST_LINKS = 40  # the kernel's own limit
# Of this process. Opening one by its name would begin at the file's beginning.
_OWN_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev/fd|/proc/(?:thread-)?self/fd)/(\d+)")
_NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS)


class Folders:
    """Those that were made for a file, which an error in the `with` block removes again."""

    def __init__(self) -> None:
        self._made: list[tuple[int, str]] = []

    def make(self, name: str, folder: int) -> None:
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(name, dir_fd=folder)
            self._made.append((os.dup(folder), name))

    def __enter__(self) -> Folders:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for folder, name in reversed(self._made):
            if kind is not None:
                with contextlib.suppress(OSError):  # somebody has put something into it
                    os.rmdir(name, dir_fd=folder)
            os.close(folder)


class Place:
    """A name in a folder that is held open; `facts` are of what is there, None for nothing.

    They are of a link only where that is an open file of this process, whose number is `name`.
    """

    def __init__(self, folder: int, name: str, facts: os.stat_result | None) -> None:
        self._folder = folder
        self.name = name
        self.facts = facts

    @property
    def takes_files(self) -> bool:
        """Whether a file may take this name: there is nothing, or a regular file."""
        return self.facts is None or stat.S_ISREG(self.facts.st_mode)

    @property
    def _there(self) -> os.stat_result:
        assert self.facts is not None, "nothing has this name"
        return self.facts

    def make(self, data: bytes, as_old_as: os.stat_result | None = None) -> str:
        """A new file beside, with the mode of the one that is there. Its name."""
        most = os.fsdecode(os.fsencode(self.name)[:200])  # a name's limit is one of bytes
        name = f".{most}.{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        # What was kept from others is not theirs for a moment either.
        mode = 0o666 if self.facts is None else 0o600
        file = os.open(name, flags, mode, dir_fd=self._folder)
        try:
            with open(file, "wb") as to:
                to.write(data)
                if self.facts is not None:
                    os.fchmod(to.fileno(), self._mode())
                if as_old_as is not None:
                    to.flush()
                    os.utime(to.fileno(), ns=(as_old_as.st_atime_ns, as_old_as.st_mtime_ns))
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove(name)
            raise
        return name

    def read(self) -> bytes:
        """What the regular file has in it."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with open(os.open(self.name, flags, dir_fd=self._folder), "rb") as file:
            return file.read()

    def put(self, name: str) -> None:
        """The file `name`, which `make` made, takes the place."""
        self._check_replaceable()
        os.replace(name, self.name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove(self, name: str) -> None:
        os.unlink(name, dir_fd=self._folder)

    def write_in_place(self, data: bytes) -> None:
        """Into what is there: a device, a pipe, a file of a folder in which nothing can be made."""
        if self._is_own_descriptor:
            _write_to_own(int(self.name), data)
            return
        # Judged before it is opened, which could wait for ever, and after, since it may be another.
        _check_in_place(self._there)
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NOCTTY | os.O_NONBLOCK
        try:
            file = os.open(self.name, flags, dir_fd=self._folder)
        except OSError as error:
            if error.errno == errno.ENXIO and stat.S_ISFIFO(self._there.st_mode):
                raise OSError(errno.ENXIO, "it is a pipe that nobody reads from") from None
            raise
        with open(file, "wb") as to:
            facts = os.fstat(file)
            _check_in_place(facts)
            os.set_blocking(file, True)
            if stat.S_ISREG(facts.st_mode):
                to.truncate(0)
            to.write(data)

    def check(self) -> None:
        """Raises OSError where `write` would. A pipe's reader may still come, and is not asked for:
        it would see the end."""
        if self._is_own_descriptor:
            return
        try:
            new = self.make(b"") if self.takes_files else None
        except OSError as error:
            if error.errno not in _NO_RIGHT or self.facts is None:
                raise
            new = None
        if new is not None:
            self.remove(new)
            self._check_replaceable()
            return
        _check_in_place(self._there)
        if not os.access(self.name, os.W_OK, dir_fd=self._folder, follow_symlinks=False):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    @property
    def _is_own_descriptor(self) -> bool:
        return self.facts is not None and stat.S_ISLNK(self.facts.st_mode)

    def _check_replaceable(self) -> None:
        folder, user = os.fstat(self._folder), os.geteuid()
        if self.facts is None or not folder.st_mode & stat.S_ISVTX:
            return
        if user not in (0, self.facts.st_uid, folder.st_uid):
            raise OSError(
                errno.EPERM,
                f"it belongs to another user (number {self.facts.st_uid}), and its folder lets "
                f"nobody else replace it (the sticky bit): name another place",
            )

    def _mode(self) -> int:
        # A file of another user's says who may read this one, but nobody else may write it.
        return self._there.st_mode & (0o777 if _is_trusted(self._there) else 0o755)


@contextlib.contextmanager
def place(
    path: str | os.PathLike[str], *, follows: bool = True, folders: Folders | None = None
) -> Iterator[Place]:
    """Where `path` leads. Raises OSError with the path and the reason.

    Args:
        follows: whether the file itself may be a link, of this user's or root's.
        folders: makes those that are missing.
    """
    path = os.fspath(path)
    with naming(path):
        folder, name, facts = _found(path, follows, folders)
    try:
        yield Place(folder, name, facts)
    finally:
        os.close(folder)


def write(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    follows: bool = True,
    folders: Folders | None = None,
) -> None:
    """The old file or the new one is there, whenever this process ends. Arguments as of `place`.

    What is no regular file, /dev/null say, is written to and not replaced, and so is a file whose
    folder takes no new ones.
    """
    own = _OWN_DESCRIPTOR.fullmatch(os.fspath(path))
    if own:
        number = int(own[2]) if own[2] else {"stdout": 1, "stderr": 2}[own[1]]
        _write_to_own(number, data)
        return
    with place(path, follows=follows, folders=folders) as there, naming(path):
        if not there.takes_files:
            there.write_in_place(data)
            return
        try:
            new = there.make(data)
        except OSError as error:
            if error.errno not in _NO_RIGHT or there.facts is None:
                raise
            there.write_in_place(data)
            return
        try:
            there.put(new)
        except BaseException:
            with contextlib.suppress(OSError):
                there.remove(new)
            raise


def _write_to_own(number: int, data: bytes) -> None:
    with open(os.dup(number), "wb") as to:
        to.write(data)


def is_own_descriptor(path: str | os.PathLike[str]) -> bool:
    """Whether `path` names an open file of this process, /dev/stdout say."""
    return _OWN_DESCRIPTOR.fullmatch(os.fspath(path)) is not None


def check(path: str | os.PathLike[str], folders: Folders | None = None) -> None:
    """Raises OSError where `write` would. Leaves nothing but the folders."""
    if not is_own_descriptor(path):
        with place(path, folders=folders) as there, naming(path):
            there.check()


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """An OSError is about this path, not about one beside it that nobody knows."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _found(
    path: str, follows: bool, folders: Folders | None
) -> tuple[int, str, os.stat_result | None]:
    """The folder, which the caller closes; the name in it; what is there."""
    here, parts, links = _step("/" if path.startswith("/") else "."), _parts(path), 0
    try:
        while True:
            name = parts.pop()
            try:
                found = _step(name, here)
            except FileNotFoundError:
                if not parts:
                    return os.dup(here), name, None
                if parts == ["."]:
                    raise OSError(errno.EISDIR, os.strerror(errno.EISDIR)) from None
                if folders is None:
                    raise
                folders.make(name, here)
                parts.append(name)
                continue
            try:
                facts = os.fstat(found)
                if stat.S_ISLNK(facts.st_mode):
                    if not parts and name.isdecimal() and _has_own_descriptors(here):
                        return os.dup(here), name, facts
                    links += 1
                    _check_link(facts, follows or bool(parts), links)
                    target = os.readlink("", dir_fd=found)
                    if target.startswith("/"):
                        root = _step("/")
                        os.close(here)
                        here = root
                    parts += _parts(target)
                elif parts:
                    here, found = found, here
                else:
                    return os.dup(here), name, facts
            finally:
                os.close(found)  # a long path would else need a descriptor for each part
    finally:
        os.close(here)


def _has_own_descriptors(folder: int) -> bool:
    """Whether it is what /dev/fd is. Its links name files, of which a pipe for one has no path."""
    try:
        process = os.readlink("/proc/self")
        where = os.readlink(f"/proc/self/fd/{folder}")
    except OSError:  # without /proc there are none
        return False
    return re.fullmatch(rf"/proc/{process}(/task/\d+)?/fd", where) is not None


def _step(name: str, folder: int | None = None) -> int:
    return os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)


def _parts(path: str) -> list[str]:
    """The last one first. What ends with a slash names a folder: its last part is "."."""
    *_, last = names = path.split("/")
    parts = [it for it in reversed(names) if it not in ("", ".")]
    return parts if parts and last not in ("", ".") else [".", *parts]


def _check_link(facts: os.stat_result, follows: bool, links: int) -> None:
    if not _is_trusted(facts):
        raise OSError(
            errno.EPERM,
            f"a symbolic link of another user (number {facts.st_uid}) is on the path, and it is "
            f"not followed: name another place",
        )
    if not follows:
        raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed")
    if links > _MOST_LINKS:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _check_in_place(facts: os.stat_result) -> None:
    if stat.S_ISDIR(facts.st_mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISREG(facts.st_mode):
        if facts.st_nlink > 1:
            raise OSError(errno.EPERM, "it is a file of several names (hard links)")
    elif not stat.S_ISCHR(facts.st_mode) and not _is_trusted(facts):
        raise OSError(errno.EPERM, "it belongs to another user")


def _is_trusted(facts: os.stat_result) -> bool:
    return facts.st_uid in (0, os.geteuid())
