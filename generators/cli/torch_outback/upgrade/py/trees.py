"""Python files of a release as syntax trees, each parsed once, also where both releases have it."""

from __future__ import annotations

import ast
import warnings

from ..release import Release

_parsed: dict[tuple[str, int], ast.Module] = {}


def tree(release: Release, path: str) -> ast.Module:
    """An empty module for what this Python cannot parse: torch's templates of files."""
    key = (path, release.checksum(path))
    if key not in _parsed:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _parsed[key] = ast.parse(release.text(path))
        except (SyntaxError, ValueError, RecursionError):
            _parsed[key] = ast.Module([], [])
    return _parsed[key]


def differs(old: Release, new: Release, path: str) -> bool:
    """Whether a file is in one release only, or has another text in each."""
    if not (old.has(path) and new.has(path)):
        return True
    return old.checksum(path) != new.checksum(path)


def forget() -> None:
    """Gives the memory of all trees back: some hundred MB."""
    _parsed.clear()
