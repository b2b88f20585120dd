"""Which entries a line of a file, or an option, stands for."""

from __future__ import annotations

import fnmatch


def stands_for(pattern: str, id: str) -> bool:
    """Whether the entry has this id, or one that begins with it and a slash; `*` and `?` stand for
    other text, as in names of files, and a bracket of a name for itself."""
    pattern = pattern.replace("[", "[[]")
    return fnmatch.fnmatchcase(id, pattern) or fnmatch.fnmatchcase(id, f"{pattern}/*")
