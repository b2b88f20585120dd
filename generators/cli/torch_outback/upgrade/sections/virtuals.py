"""Virtual functions of the C++ interfaces that a backend implements, and of each class of torch
that the project's C++ sources derive from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..change import (
    BECAME_FINAL,
    BECAME_PURE,
    BECAME_VIRTUAL,
    CHANGED,
    DEPRECATED,
    NEW,
    REMOVED,
    Change,
    Touch,
    merged,
)
from ..cpp import classes
from ..cpp.classes import Class
from ..cpp.function import Function
from ..project.cpp import Derived
from ..release import INCLUDE, Release
from ..surface import Surface

_SECTION = "virtuals"
# What a backend may implement, with the header that has it in torch 2.11 to 2.15.
INTERFACES = {
    "c10::impl::DeviceGuardImplInterface": "c10/core/impl/DeviceGuardImplInterface.h",
    "at::AcceleratorHooksInterface": "ATen/detail/AcceleratorHooksInterface.h",
    "at::PrivateUse1HooksInterface": "ATen/detail/PrivateUse1HooksInterface.h",
    "c10::Allocator": "c10/core/Allocator.h",
    "c10::DeviceAllocator": "c10/core/CachingDeviceAllocator.h",
    "at::HostAllocator": "ATen/core/CachingHostAllocator.h",
    "c10::GeneratorImpl": "c10/core/GeneratorImpl.h",
    "at::GraphImplInterface": "ATen/core/GraphImplInterface.h",
    "c10d::Backend": "torch/csrc/distributed/c10d/Backend.hpp",
    "c10d::Backend::Options": "torch/csrc/distributed/c10d/Backend.hpp",
    "c10d::Work": "torch/csrc/distributed/c10d/Work.hpp",
    "c10d::Store": "torch/csrc/distributed/c10d/Store.hpp",
    "c10d::Timer": "torch/csrc/distributed/c10d/reducer_timer.hpp",
    "torch::profiler::impl::ProfilerStubs": "torch/csrc/profiler/stubs/base.h",
    "libkineto::IActivityProfiler": "kineto/IActivityProfiler.h",
    "libkineto::IActivityProfilerSession": "kineto/IActivityProfiler.h",
}
_TORCH = ("at::", "c10::", "c10d::", "libkineto::", "torch::")


@dataclass
class _Pair:
    """An interface in both releases, with the project's classes that derive from it."""

    name: str
    where: str
    old: Class
    new: Class
    derived: list[Derived]


def changes(surface: Surface) -> Iterator[Change]:
    old, new = _Headers(surface.old), _Headers(surface.new)
    hints = dict(INTERFACES)
    for derived in surface.project.cpp.derived:
        for base in derived.found.bases:
            if base.startswith(_TORCH):
                hints.setdefault(base, _included(surface, old, base) or "")
    for name, with_derived in _with_their_bases(hints, (old, new)).items():
        before, after = old.find(name, hints.get(name, "")), new.find(name, hints.get(name, ""))
        derived_here = surface.project.cpp_derived_from(with_derived)
        if before and after:
            yield from _compared(_Pair(name, after[1], before[0], after[0], derived_here))
        elif found := before or after:
            kind = REMOVED if before else NEW
            touches = [_at(it, "derives from it") for it in derived_here]
            yield Change(_SECTION, kind, name, found[1], touches=merged(touches))


def _included(surface: Surface, headers: _Headers, base: str) -> str | None:
    """The header with the class, of those that the project includes: those of operators are not
    searched."""
    last = base.rpartition("::")[2]
    for include in surface.project.cpp.includes:
        path = f"{INCLUDE}{include}"
        if not headers.release.has(path) or last not in headers.release.text(path):
            continue
        if any(it.name == base for it in headers.classes(path)):
            return include
    return None


def _with_their_bases(hints: dict[str, str], releases: Iterable[_Headers]) -> dict[str, set[str]]:
    """And the bases of those, as far as they are torch's: each with itself, and with the classes of
    torch that derive from it."""
    found = {name: {name} for name in hints}
    for headers in releases:
        for name in list(hints):
            left = [name]
            while left:
                derived = left.pop()
                its = headers.find(derived, hints.get(derived, ""))
                for base in its[0].bases if its else ():
                    for full in _in_scopes(base, derived):
                        if full.startswith(_TORCH) and headers.find(full, hints.get(full, "")):
                            if name not in found.setdefault(full, {full}):
                                found[full].add(name)
                                left.append(full)
                            break
    return found


def _in_scopes(base: str, name: str) -> Iterator[str]:
    """As C++ looks it up: in the class's own namespace, then in those around it."""
    scope = name.split("::")[:-1]
    while scope:
        yield "::".join((*scope, base))
        scope.pop()
    yield base


def _at(derived: Derived, how: str, line: int = 0) -> Touch:
    return Touch(derived.file, line or derived.found.line, how)


def _compared(pair: _Pair) -> Iterator[Change]:
    names = dict.fromkeys(it.name for it in (*pair.old.virtuals, *pair.new.virtuals))
    for name in names:
        was = [it for it in pair.old.virtuals if it.name == name]
        now = [it for it in pair.new.virtuals if it.name == name]
        yield from _of_name(pair, was, now)


def _of_name(pair: _Pair, was: list[Function], now: list[Function]) -> Iterator[Change]:
    """All overloads."""
    kept = {it.signature for it in was} & {it.signature for it in now}
    gone = [it for it in was if it.signature not in kept]
    come = [it for it in now if it.signature not in kept]
    for signature in sorted(kept):
        before = next(it for it in was if it.signature == signature)
        after = next(it for it in now if it.signature == signature)
        yield from _same_signature(pair, before, after)
    for before, after in zip(gone, come, strict=False):
        note = _pure_note(after) if after.is_pure and not before.is_pure else ""
        yield _change(pair, CHANGED, before, after, note)
    for before in gone[len(come) :]:
        if not before.is_override:
            is_there = any(it.name == before.name for it in pair.new.functions)
            note = "is no longer virtual" if is_there and not now else ""
            yield _change(pair, REMOVED, before, None, note)
    for after in come[len(gone) :]:
        yield from _added(pair, after)


def _added(pair: _Pair, after: Function) -> Iterator[Change]:
    """What a base has is new there, and not here."""
    if after.is_final:
        yield _change(pair, BECAME_FINAL, None, after)
    elif not after.is_override:
        before = [it for it in pair.old.functions if it.signature == after.signature]
        if before:
            yield _change(pair, BECAME_VIRTUAL, before[0], after)
        else:
            comment = pair.new.deprecated.get(after.line, "")
            note = _pure_note(after) if after.is_pure else comment
            yield _change(pair, NEW, None, after, note)


def _same_signature(pair: _Pair, before: Function, after: Function) -> Iterator[Change]:
    comment = pair.new.deprecated.get(after.line, "")
    if after.is_pure and not before.is_pure:
        yield _change(pair, BECAME_PURE, before, after, _pure_note(after))
    elif before.is_pure and not after.is_pure:
        yield _change(pair, CHANGED, before, after, "is no longer pure: it has a default")
    if after.is_final and not before.is_final:
        yield _change(pair, BECAME_FINAL, before, after)
    if comment and not pair.old.deprecated.get(before.line):
        yield _change(pair, DEPRECATED, before, after, comment)


def _pure_note(after: Function) -> str:
    return f"each class that is made has to define {after.name}"


def _change(
    pair: _Pair, kind: str, before: Function | None, after: Function | None, note: str = ""
) -> Change:
    one = after or before
    assert one is not None
    touches = []
    for derived in pair.derived:
        own = [it for it in derived.found.functions if it.name == one.name]
        how = "already has a function of this name" if kind == NEW else "overrides it"
        touches += [_at(derived, how, it.line) for it in own]
        if not own and after is not None and after.is_pure and kind in (NEW, BECAME_PURE):
            touches.append(_at(derived, "does not define it"))
    return Change(
        _SECTION,
        kind,
        f"{pair.name}::{one.name}",
        pair.where,
        before.signature if before else "",
        after.signature if after else "",
        note,
        merged(touches),
    )


# ---- Where in a release's headers a class is

# Those whose classes a backend may derive; ATen/ops/ has a file for each operator.
_SEARCHED = ("ATen/", "c10/", "kineto/", "torch/csrc/")
_NOT_SEARCHED = "ATen/ops/"
_HEAD = re.compile(
    r"\b(?:class|struct)\s+(?:[A-Z][A-Z0-9_]+(?:\([^)]*\))?\s+)*"
    r"(?:\w+::)*([A-Za-z_]\w*)(?:\s+final)?\s*(?::[^:;{}][^;{}]*)?\{"
)


class _Headers:
    def __init__(self, release: Release) -> None:
        self.release = release
        self._read: dict[str, list[Class]] = {}

    def classes(self, path: str) -> list[Class]:
        """Of one header, which has to be there."""
        if path not in self._read:
            self._read[path] = classes.read(self.release.text(path))
        return self._read[path]

    def find(self, name: str, hint: str = "") -> tuple[Class, str] | None:
        """By its qualified name, with its header. `hint` is a header to look at first."""
        last = name.rpartition("::")[2]
        for path in (f"{INCLUDE}{hint}", *self._headers_of.get(last, ())):
            if self.release.has(path):
                for it in self.classes(path):
                    if it.name == name:
                        return it, path
        return None

    @cached_property
    def _headers_of(self) -> dict[str, list[str]]:
        """By the last part of a class's name."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.release.headers():
            short = path.removeprefix(INCLUDE)
            if short.startswith(_SEARCHED) and not short.startswith(_NOT_SEARCHED):
                for name in set(_HEAD.findall(self.release.text(path))):
                    found[name].append(path)
        return found
