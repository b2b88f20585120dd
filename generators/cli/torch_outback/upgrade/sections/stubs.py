"""Dispatch stubs: DECLARE_DISPATCH(type, name) in torch's headers, with the types resolved that the
same header names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..change import CHANGED, NEW, REMOVED, Change, merged
from ..cpp import function, source
from ..release import INCLUDE, Release
from ..surface import Surface

_SECTION = "stubs"
_FOLDER = f"{INCLUDE}ATen/"
_STUB = re.compile(r"^[ \t]*DECLARE_DISPATCH\s*\(([^;]*?),\s*(\w+)\s*\)", re.MULTILINE)
_USING = re.compile(r"\busing\s+(\w+)\s*=\s*([^;]+);")
_TYPEDEF = re.compile(r"\btypedef\s+([^;]*?)\(\s*\*\s*(\w+)\s*\)\s*(\([^;]*\))\s*;")


def changes(surface: Surface) -> Iterator[Change]:
    old, new = _stubs(surface.old), _stubs(surface.new)
    names = [it for it in {**old, **new} if old.get(it, ("", ""))[1] != new.get(it, ("", ""))[1]]
    named = surface.project.cpp.words(names)
    for name in names:
        where, before = old.get(name, ("", ""))
        there, after = new.get(name, ("", ""))
        kind = REMOVED if not there else NEW if not where else CHANGED
        yield Change(
            _SECTION,
            kind,
            f"at::native::{name}",
            there or where,
            before,
            after,
            touches=merged(named.get(name, ())),
        )


def _stubs(release: Release) -> dict[str, tuple[str, str]]:
    """The header and the type of each, by its name."""
    found = {}
    for path in release.headers():
        if not path.startswith(_FOLDER) or "DECLARE_DISPATCH" not in release.text(path):
            continue
        text = source.code(release.text(path))
        types = {it[1]: it[2] for it in _USING.finditer(text)}
        types |= {it[2]: f"{it[1]}(*){it[3]}" for it in _TYPEDEF.finditer(text)}
        for it in _STUB.finditer(text):
            kind = it[1].strip()
            found[it[2]] = (path, function.pointer(types.get(kind, kind)))
    return found
