"""A Python class of torch with its bases in torch."""

from __future__ import annotations

import ast

from .modules import FOUND, Modules
from .signatures import Function


def with_bases(modules: Modules, path: str) -> dict[str, ast.ClassDef]:
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


def functions(node: ast.ClassDef) -> dict[str, Function]:
    """Of overloads and setters, the first one that is no overload."""
    found: dict[str, Function] = {}
    for it in node.body:
        if not isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if not any("overload" in ast.unparse(each) for each in it.decorator_list):
            found.setdefault(it.name, it)
    return found


def assigned(node: ast.ClassDef) -> set[str]:
    """Names that the body gives a value, which may be functions too."""
    found = set()
    for it in node.body:
        if isinstance(it, ast.Assign):
            found |= {target.id for target in it.targets if isinstance(target, ast.Name)}
        elif isinstance(it, ast.AnnAssign) and isinstance(it.target, ast.Name):
            found.add(it.target.id)
    return found
