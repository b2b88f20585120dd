"""Compiled kernels in a folder of the user's. Where the caller names none it is OUTBACK_CACHE_DIR,
or XDG_CACHE_HOME/outback, or ~/.cache/outback, and there the folder kernels.

A file's name is the key, and its content the SHA-256 of the rest and the rest. What cannot be kept
or read is compiled again, with a warning that says why: the cache only saves time. Any number of
processes may use the folder at once: a file appears whole, and two that compile the same put the
same file there.

What is loaded runs as this user. So the folder has to be the user's, and writable by nobody else;
files are opened through the open folder, which nobody can exchange in between.
"""

import contextlib
import errno
import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from .. import _native

# So many bytes are kept; then the files that were not asked for the longest go, down to half.
MOST_BYTES = 256 << 20
_DIGEST = hashlib.sha256().digest_size


def key_of(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def found(key: str, path: Path | None = None) -> bytes | None:
    """What was kept under the key in the folder `path`, or None."""
    try:
        with _folder(path) as folder:
            content = _read(key, folder)
            if content is None:
                return None
            data = content[_DIGEST:]
            if hashlib.sha256(data).digest() == content[:_DIGEST]:
                # Not on a read-only disk, nor where another process has just removed the file.
                with contextlib.suppress(OSError):
                    os.utime(key, dir_fd=folder, follow_symlinks=False)
                return data
            os.unlink(key, dir_fd=folder)
        _warn(f"{key} in {path or _path()} was damaged, and is made anew")
    except OSError as error:
        _warn(f"kernels are not read from {path or _path() or 'a cache'}: {error}")
    return None


def kept(key: str, data: bytes, path: Path | None = None) -> bytes:
    """Keeps `data` under the key, and returns it."""
    try:
        with _folder(path) as folder:
            _write(key, hashlib.sha256(data).digest() + data, folder)
            _bound(folder)
    except OSError as error:
        _warn(f"kernels are not kept in {path or _path() or 'a cache'}: {error}")
    return data


def _path() -> Path | None:
    """None for a user without a home."""
    if chosen := _native.variable("OUTBACK_CACHE_DIR"):
        if not os.path.isabs(chosen):
            raise ValueError(f"OUTBACK_CACHE_DIR={chosen}: expected the absolute path of a folder")
        return Path(chosen, "kernels")
    for name, folder in (("XDG_CACHE_HOME", "outback"), ("HOME", ".cache/outback")):
        found = _native.variable(name)
        if found and os.path.isabs(found):
            return Path(found, folder, "kernels")
    return None


@contextlib.contextmanager
def _folder(chosen: Path | None) -> Iterator[int]:
    """A descriptor of the folder. Raises OSError where it cannot be made or opened, or others may
    write there."""
    path = chosen or _path()
    if path is None:
        raise FileNotFoundError("this user has no home: OUTBACK_CACHE_DIR may name a folder")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        facts = os.fstat(folder)
        if facts.st_uid != os.geteuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(
                errno.EPERM, "it belongs to another user, or others may write there", str(path)
            )
        yield folder
    finally:
        os.close(folder)


def _read(key: str, folder: int) -> bytes | None:
    try:
        opened = os.open(key, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return None
    with open(opened, "rb") as file:
        return file.read()


def _write(key: str, content: bytes, folder: int) -> None:
    # Under a name of its own first: nobody sees half a file.
    place = f"/proc/self/fd/{folder}"
    with tempfile.NamedTemporaryFile(dir=place, prefix=".new_", delete=False) as file:
        name = os.path.basename(file.name)
        try:
            file.write(content)
            file.flush()
            os.replace(name, key, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(name, dir_fd=folder)
            raise


def _bound(folder: int) -> None:
    facts = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                told = entry.stat(follow_symlinks=False)
                facts.append((told.st_mtime, entry.name, told.st_size))
    total = sum(size for _, _, size in facts)
    if total <= MOST_BYTES:
        return
    for _, name, size in sorted(facts):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        total -= size
        if total <= MOST_BYTES // 2:
            return


def _warn(text: str) -> None:
    warnings.warn(f"compile_kernel: {text}", RuntimeWarning, stacklevel=3)
