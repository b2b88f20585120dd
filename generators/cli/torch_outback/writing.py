"""Writes files of a project: all that are asked for, or none."""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def read(file: Path) -> str:
    """Its text; bytes that are not UTF-8 become what they were when it is written again. Lines that
    all end as Windows has it end as ours do, so that they can be compared."""
    with file.open(encoding="utf-8", errors="surrogateescape", newline="") as opened:
        text = opened.read()
    return text.replace("\r\n", "\n") if _is_of_windows(text) else text


def write(file: Path, text: str, like: Path | None = None) -> None:
    """With the ends of lines that the file `like` has, if there is one."""
    if like is not None:
        with like.open(encoding="utf-8", errors="surrogateescape", newline="") as opened:
            if _is_of_windows(opened.read()):
                text = text.replace("\n", "\r\n")
    file.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")


def _is_of_windows(text: str) -> bool:
    return 0 < text.count("\n") == text.count("\r\n")


def write_all(texts: dict[Path, str | None]) -> None:
    """Each file becomes its text, and goes where that is None.

    What needs room on the disk is written first, beside the files. Where anything fails, or
    somebody stops it, they are what they were. What is a link stays one. Raises OSError, which
    names the file.
    """
    with (
        contextlib.ExitStack() as made_folders,
        contextlib.ExitStack() as scraps,
        contextlib.ExitStack() as undo,
    ):
        steps = []
        for path, text in texts.items():
            file = Path(os.path.realpath(path))
            old, new = (file.with_name(f".{file.name}.outback-{what}") for what in ("old", "new"))
            was_there = file.exists()
            with _naming(path):
                _make_folder(file.parent, made_folders)
                scraps.callback(old.unlink, missing_ok=True)
                scraps.callback(new.unlink, missing_ok=True)
                if was_there:
                    shutil.copy2(file, old)
                if text is not None:
                    write(new, text, file if was_there else None)
                    if was_there:
                        shutil.copymode(file, new)
            steps.append((path, file, old if was_there else None, None if text is None else new))
        for path, file, old, new in steps:
            with _naming(path):
                if old:
                    undo.callback(os.replace, old, file)
                else:
                    undo.callback(file.unlink, missing_ok=True)
                if new:
                    os.replace(new, file)
                else:
                    file.unlink()
        undo.pop_all()
        made_folders.pop_all()


def _make_folder(folder: Path, made: contextlib.ExitStack) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent, made)
        folder.mkdir()
        made.callback(folder.rmdir)


@contextlib.contextmanager
def _naming(file: Path) -> Iterator[None]:
    """An OSError is about this file, not about one beside it that nobody knows."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # of shutil, which says what is wrong in words
            raise OSError(errno.EINVAL, f"no regular file ({error})", os.fspath(file)) from None
        raise OSError(error.errno, error.strerror, os.fspath(file)) from None
