"""Writes files of a project: all that are asked for, or none."""

import contextlib
import errno
from pathlib import Path

from .conformance import safe_files


def read(file: Path) -> str:
    """Its text; bytes that are not UTF-8 become what they were when it is written again. Lines that
    all end as Windows has it end as ours do, so that they can be compared."""
    text = file.read_bytes().decode(errors="surrogateescape")
    return text.replace("\r\n", "\n") if _is_of_windows(text) else text


def write(file: Path, text: str) -> None:
    """The file is whole, or what it was. In place where nothing can be put beside it, and what is
    no file of a disk: /dev/stdout say."""
    safe_files.write(file, text.encode(errors="surrogateescape"))


def check(file: Path) -> None:
    """Raises OSError where `write` would."""
    safe_files.check(file)


def _is_of_windows(text: str) -> bool:
    return 0 < text.count("\n") == text.count("\r\n")


def write_all(texts: dict[Path, str | None]) -> None:
    """Each file becomes its text, with the ends of lines that it has, and goes where that is None.

    What needs room on the disk is written first, beside the files. Where anything fails, or
    somebody stops it, they are what they were. What is a link stays one. Raises OSError, which
    names the file.
    """
    with (
        safe_files.Folders() as folders,
        contextlib.ExitStack() as scraps,
        contextlib.ExitStack() as undo,
    ):
        steps = []
        for path, text in texts.items():
            place = scraps.enter_context(safe_files.place(path, folders=folders))
            with safe_files.naming(path):
                if not place.takes_files:
                    raise OSError(errno.EINVAL, "no regular file")
                before = None if place.facts is None else place.read()
                old = None if before is None else place.make(before, place.facts)
                if old is not None:
                    scraps.callback(_remove, place, old)
                new = None if text is None else place.make(_bytes(text, before))
                if new is not None:
                    scraps.callback(_remove, place, new)
            steps.append((path, place, old, new))
        for path, place, old, new in steps:
            with safe_files.naming(path):
                if old:
                    undo.callback(place.put, old)
                else:
                    undo.callback(_remove, place, place.name)
                if new:
                    place.put(new)
                else:
                    place.remove(place.name)
        undo.pop_all()


def _bytes(text: str, before: bytes | None) -> bytes:
    if before is not None and _is_of_windows(before.decode(errors="surrogateescape")):
        text = text.replace("\n", "\r\n")
    return text.encode(errors="surrogateescape")


def _remove(place: safe_files.Place, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # it has taken the place, or never did
        place.remove(name)
