"""Methods of the Python classes that a backend derives from, and of each class of torch that the
project's Python sources derive from, with the bases of all these in torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..change import BECAME_ABSTRACT, CHANGED, NEW, REMOVED, Change, Touch, merged
from ..project.python import PythonClass
from ..py import signatures
from ..py.modules import FOUND, Modules
from ..py.signatures import Function
from ..surface import Surface

_SECTION = "python classes"
CLASSES = (
    "torch._dynamo.device_interface.DeviceInterface",
    "torch._inductor.codegen.common.DeviceOpOverrides",
    "torch._inductor.codegen.wrapper.PythonWrapperCodegen",
    "torch._inductor.scheduler.BaseScheduling",
)


@dataclass
class _Pair:
    """`path` is the newer release's. `inherited` are names that bases have."""

    path: str
    where: str
    old: ast.ClassDef
    new: ast.ClassDef
    old_inherited: set[str]
    new_inherited: set[str]
    derived: list[PythonClass]


def changes(surface: Surface) -> Iterator[Change]:
    bases = {base for it in surface.project.python.classes for base in it.bases}
    roots = dict.fromkeys((*CLASSES, *sorted(it for it in bases if it.startswith("torch."))))
    derived_by: dict[str, set[str]] = {}  # roots, by each class that they are or derive from
    pairs: dict[str, tuple[dict[str, ast.ClassDef], dict[str, ast.ClassDef]]] = {}
    for root in roots:
        old = _with_bases(surface.old_modules, root)
        new = _with_bases(surface.new_modules, root)
        for path in new:
            derived_by.setdefault(path, set()).add(root)
            if path in old:
                pairs.setdefault(path, (old, new))
    for path, (old, new) in pairs.items():
        derived = surface.project.python_derived_from(derived_by[path])
        module = path.rpartition(".")[0]
        yield from _compared(
            _Pair(
                path,
                surface.new_modules.file(module),
                old[path],
                new[path],
                _inherited(old, path),
                _inherited(new, path),
                derived,
            )
        )


def _inherited(found: dict[str, ast.ClassDef], path: str) -> set[str]:
    others = [node for name, node in found.items() if name != path]
    return {name for it in others for name in (*_functions(it), *_assigned(it))}


def _compared(pair: _Pair) -> Iterator[Change]:
    old, new = _functions(pair.old), _functions(pair.new)
    for name, before in old.items():
        if name in new:
            yield from _of_both(pair, before, new[name])
        elif name not in pair.new_inherited | _assigned(pair.new):
            yield _change(pair, REMOVED, before, None)
    for name, after in new.items():
        if name not in old and name not in pair.old_inherited | _assigned(pair.old):
            yield _change(pair, NEW, None, after)


def _of_both(pair: _Pair, before: Function, after: Function) -> Iterator[Change]:
    if signatures.is_abstract(after) and not signatures.is_abstract(before):
        yield _change(pair, BECAME_ABSTRACT, before, after)
    elif signatures.names(before) != signatures.names(after):
        yield _change(pair, CHANGED, before, after)


def _change(pair: _Pair, kind: str, before: Function | None, after: Function | None) -> Change:
    one = after or before
    assert one is not None
    name = one.name
    has_to_define = after is not None and signatures.is_abstract(after) and kind != CHANGED
    still_takes = before is not None and after is not None and signatures.still_takes(before, after)
    touches = []
    for it in pair.derived:
        own = it.members.get(name)
        asked = it.asked.get(name)
        if own:
            how = "already has a member of this name" if kind == NEW else "overrides it"
            touches.append(Touch(it.file, own, how))
        elif has_to_define:
            touches.append(Touch(it.file, it.line, "does not define it"))
        if asked and kind in (REMOVED, CHANGED) and not still_takes and asked != own:
            touches.append(Touch(it.file, asked, "uses it"))
    notes = {BECAME_ABSTRACT: f"each class that is made has to define {name}"}
    if kind == CHANGED:
        notes[CHANGED] = "" if still_takes else "calls that fit the older parameters may fail"
    return Change(
        _SECTION,
        kind,
        f"{pair.path}.{name}",
        pair.where,
        signatures.text(before) if before else "",
        signatures.text(after) if after else "",
        notes.get(kind, ""),
        merged(touches),
    )


# ---- A class of torch, and its bases there


def _with_bases(modules: Modules, path: str) -> dict[str, ast.ClassDef]:
    """The class and its bases in torch's files, nearest first, by their paths; {} where the path
    leads to no class."""
    found: dict[str, ast.ClassDef] = {}
    left = [path]
    while left:
        place = modules.find(left.pop(0))
        if place.status != FOUND or not isinstance(place.node, ast.ClassDef):
            continue
        if place.path in found:
            continue
        found[place.path] = place.node
        for base in place.node.bases:
            if isinstance(base, ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name | ast.Attribute):
                left.append(f"{place.module}.{ast.unparse(base)}")
    return found


def _functions(node: ast.ClassDef) -> dict[str, Function]:
    """Of overloads and setters, the first one that is no overload."""
    found: dict[str, Function] = {}
    for it in node.body:
        if not isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not any("overload" in ast.unparse(each) for each in it.decorator_list):
            found.setdefault(it.name, it)
    return found


def _assigned(node: ast.ClassDef) -> set[str]:
    """Names that the body gives a value, which may be functions too."""
    found = set()
    for it in node.body:
        if isinstance(it, ast.Assign):
            found |= {target.id for target in it.targets if isinstance(target, ast.Name)}
        elif isinstance(it, ast.AnnAssign) and isinstance(it.target, ast.Name):
            found.add(it.target.id)
    return found
