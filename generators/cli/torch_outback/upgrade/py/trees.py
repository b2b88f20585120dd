"""Python files of a release as syntax trees."""

from __future__ import annotations

import ast
import warnings

from ..release import Release

TOO_DEEP = "it is nested too deeply"
_outlines: dict[tuple[str, int], ast.Module] = {}


class NotParsed(Exception):
    """The text says why."""


def parse(text: str) -> ast.Module:
    """Raises NotParsed for what this Python cannot parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise NotParsed(f"{error.msg}, line {error.lineno}") from None
    except (MemoryError, RecursionError):  # which of them depends on Python's release
        raise NotParsed(TOO_DEEP) from None
    except ValueError as error:
        raise NotParsed(str(error)) from None


def tree(release: Release, path: str) -> ast.Module:
    """An empty module for what this Python cannot parse: torch's templates of files."""
    try:
        return parse(release.text(path))
    except NotParsed:
        return ast.Module([], [])


def outline(release: Release, path: str) -> ast.Module:
    """The same without what functions do, kept for the next caller: one for both releases if they
    have the same file."""
    key = (path, release.checksum(path))
    if key not in _outlines:
        found = _outlines[key] = tree(release, path)
        _empty_functions(found.body)
    return _outlines[key]


def _empty_functions(body: list[ast.stmt]) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body.clear()
            continue
        for inner in (node, *getattr(node, "handlers", ())):
            for name in ("body", "orelse", "finalbody"):
                statements = getattr(inner, name, None)
                if isinstance(statements, list):
                    _empty_functions(statements)


def forget() -> None:
    """Gives the memory of all outlines back."""
    _outlines.clear()


def differs(old: Release, new: Release, path: str) -> bool:
    """Whether a file is in one release only, or has another text in each."""
    if not (old.has(path) and new.has(path)):
        return True
    return old.checksum(path) != new.checksum(path)
