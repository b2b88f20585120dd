"""Files that a run writes: known to be writable before it starts, and never half written."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path


def check_writable(path: Path) -> None:
    """Raises OSError where `write` would, after hours."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def write(path: Path, text: str) -> None:
    """The old one or the new one, whenever this process ends. Raises OSError, with the file.

    A message can hold half of a surrogate pair, which UTF-8 cannot; it is written as its escape.
    """
    data = text.encode(errors="backslashreplace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # a device or a pipe is not replaced
            path.write_bytes(data)
            return
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            fresh.write_bytes(data)
            os.replace(fresh, path)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:  # a full disk names no file
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
