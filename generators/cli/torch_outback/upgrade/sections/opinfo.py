"""Entries of PyTorch's test samples: OpInfo and its kinds, by name and variant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..change import NEW, REMOVED, Change, merged
from ..py import trees
from ..release import Release
from ..surface import Surface

_SECTION = "opinfo"
_FILE = "torch/testing/_internal/common_methods_invocations.py"
_FOLDER = "torch/testing/_internal/opinfo/definitions/"
_NO_ENTRIES = ("DecorateInfo", "SkipInfo")


def changes(surface: Surface) -> Iterator[Change]:
    paths = [
        it
        for it in sorted(surface.old.paths | surface.new.paths)
        if (it == _FILE or (it.startswith(_FOLDER) and it.endswith(".py")))
        and trees.differs(surface.old, surface.new, it)
    ]
    old, new = _entries(surface.old, paths), _entries(surface.new, paths)
    strings = surface.project.python.strings
    for entry in {**old, **new}:
        if entry in old and entry in new:
            continue
        touches = merged(strings.get(entry, ())) if _is_distinct(entry) else ()
        kind = NEW if entry in new else REMOVED
        yield Change(_SECTION, kind, entry, {**old, **new}[entry], touches=touches)


def _is_distinct(entry: str) -> bool:
    """Words such as "add" are in many texts."""
    return any(it in entry for it in "._ ")


def _entries(release: Release, paths: list[str]) -> dict[str, str]:
    """The file of each. "name" or "name variant", and with "_foreach_" before those of lists."""
    found = {}
    for path in paths:
        if not release.has(path):
            continue
        for node in ast.walk(trees.tree(release, path)):
            if isinstance(node, ast.Call) and (name := _name(node)):
                found[name] = path
    return found


def _name(node: ast.Call) -> str:
    """ "" where it makes no entry."""
    kind = node.func.id if isinstance(node.func, ast.Name) else ""
    if not kind.endswith("Info") or kind in _NO_ENTRIES or not node.args:
        return ""
    first = node.args[0]
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return ""
    variants = [it.value for it in node.keywords if it.arg == "variant_test_name"]
    variant = ast.literal_eval(variants[0]) if _is_text(variants) else ""
    prefix = "_foreach_" if kind.startswith("Foreach") else ""
    return f"{prefix}{first.value}{f' {variant}' if variant else ''}"


def _is_text(nodes: list[ast.expr]) -> bool:
    return bool(nodes) and isinstance(nodes[0], ast.Constant)
