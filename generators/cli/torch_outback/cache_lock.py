"""The lock of one build in the cache, held while it is made or removed: <key>.lock.

It is `flock`'s, as that of the filelock package, which older releases of Outback took: the two
exclude each other. The file is opened without following a link, and never cut: in a folder that
others may write to, it may be a link of theirs to a file of this user's.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def hold(root: Path, name: str, wait: bool = True) -> Iterator[None]:
    """Raises BlockingIOError where somebody else has it and this is not to wait, and OSError where
    there can be none.
    """
    descriptor = _locked(root / f"{name}.lock", fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    try:
        yield
    finally:
        # What this process has started meanwhile may have the descriptor too.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def is_held(root: Path, name: str) -> bool:
    """Writes nothing. What cannot be looked at counts as held; a link is no lock."""
    path = root / f"{name}.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return error.errno not in (errno.ENOENT, errno.ELOOP)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _locked(path: Path, how: int) -> int:
    while True:
        # For this user alone: whoever can open it can hold it.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, how)
            if os.fstat(descriptor).st_nlink:  # somebody may have emptied the folder meanwhile
                return descriptor
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                error.filename = os.fspath(path)
            raise
        os.close(descriptor)
