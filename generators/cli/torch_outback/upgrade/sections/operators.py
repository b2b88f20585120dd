"""Operators of native_functions.yaml: which are new or gone, and whose schema, tags or need of a
kernel differs. Operators that other files register (quantized::, c10d::) are not in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...refused import Refused
from .. import native_functions
from ..change import CHANGED, NEW, REMOVED, Change, Touch, merged
from ..native_functions import Operator
from ..release import Release
from ..surface import Surface

_SECTION = "operators"
_WHERE = native_functions.FILE
_Operators = dict[str, Operator]
_PYTHON = re.compile(r"torch\.ops\.aten\.(\w+)(?:\.(\w+))?")


def changes(surface: Surface) -> Iterator[Change]:
    old, new = _operators(surface.old), _operators(surface.new)
    named = _Named(surface)
    for name in {**old, **new}:
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            one = after or before
            assert one is not None
            kind = NEW if after else REMOVED
            note = f"{one.kernel}{_tags(one)}" if after else ""
            yield _change(kind, before, after, note, named.by(name, old, new))
        elif notes := list(_notes(before, after)):
            yield _change(CHANGED, before, after, "; ".join(notes), named.by(name, old, new))


def _operators(release: Release) -> dict[str, Operator]:
    if not release.has(_WHERE):
        raise Refused(f"{release.place}: torch {release.version} there has no {_WHERE}")
    return native_functions.read(release.text(_WHERE))


def _notes(before: Operator, after: Operator) -> Iterator[str]:
    if before.schema != after.schema:
        yield "another schema"
    if before.kernel != after.kernel:
        yield f"{after.kernel}, and before: {before.kernel}"
    for tag in sorted(set(after.tags) - set(before.tags)):
        yield f"has the tag {tag}"
    for tag in sorted(set(before.tags) - set(after.tags)):
        yield f"lacks the tag {tag}"


def _tags(operator: Operator) -> str:
    return f"; tags {', '.join(operator.tags)}" if operator.tags else ""


def _change(
    kind: str,
    before: Operator | None,
    after: Operator | None,
    note: str,
    touches: tuple[Touch, ...],
) -> Change:
    one = after or before
    assert one is not None
    was = before.schema if before else ""
    now = after.schema if after else ""
    if was == now:
        was = ""
    return Change(_SECTION, kind, f"aten::{one.name}", _WHERE, was, now, note, touches)


class _Named:
    """Where the project names an operator: as aten::add.Tensor in a text, as at::add or
    at::_ops::add_Tensor in C++, as torch.ops.aten.add.Tensor in Python. A bare text ("add.Tensor")
    counts in C++ if it has the overload, since it may be a word otherwise."""

    def __init__(self, surface: Surface) -> None:
        self._cpp = surface.project.cpp
        self._strings = surface.project.python.strings
        self._python: dict[str, list[Touch]] = {}
        for use in surface.project.python.uses:
            if found := _PYTHON.match(use.path):
                overload = found[2] if found[2] not in (None, "default") else ""
                key = f"{found[1]}.{overload}" if overload else found[1]
                touch = replace(use.touch, how="names it")
                self._python.setdefault(key, []).append(touch)

    def by(self, name: str, old: _Operators, new: _Operators) -> tuple[Touch, ...]:
        base, _, overload = name.partition(".")
        texts = [f"aten::{name}"]
        if overload:
            texts.append(name)
        found = [self._cpp.strings.get(it, ()) for it in texts]
        found += [self._strings.get(it, ()) for it in texts]
        class_of_call = f"at::_ops::{name.replace('.', '_')}"
        found += [self._cpp.qualified.get(class_of_call, ()), self._python.get(name, ())]
        overloads = {it for it in (*old, *new) if it.partition(".")[0] == base}
        is_gone = not any(it in new for it in overloads)
        # A name without its overload may mean any of them.
        if len(overloads) == 1 or is_gone:
            found += [self._cpp.qualified.get(f"at::{base}", ()), self._python.get(base, ())]
        return merged(*found)
