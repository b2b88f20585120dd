"""Files that a run writes: known to be writable before it starts, and never half written."""

from __future__ import annotations

from pathlib import Path

from . import safe_files


def check_writable(path: Path) -> None:
    """Raises OSError where `write` would, after hours. Makes the folders."""
    with safe_files.Folders() as folders:
        safe_files.check(path, folders)


def write(path: Path, text: str) -> None:
    """The old one or the new one, whenever this process ends. Raises OSError, with the file.

    A message can hold half of a surrogate pair, which UTF-8 cannot; it is written as its escape.
    """
    with safe_files.Folders() as folders:
        safe_files.write(path, text.encode(errors="backslashreplace"), folders=folders)
