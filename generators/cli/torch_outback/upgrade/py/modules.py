"""Where a dotted name of torch leads, by the modules' own statements: definitions and imports.

Nothing is run, so names that a module makes as it is imported (globals()[...], __getattr__, what
C++ adds and no stub of types has) are unknown, neither there nor gone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..release import Release
from . import trees

FOUND, GONE, UNKNOWN = "found", "gone", "unknown"


@dataclass
class Names:
    """Of a module. `defined` has functions, classes, and None for values; `imported` the module and
    the name in it, "" where the module itself is meant."""

    defined: dict[str, ast.stmt | None] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)  # of what is defined
    is_dynamic: bool = False


@dataclass(frozen=True)
class Place:
    """`node` is a function or a class; None for a module or a value."""

    status: str
    module: str = ""
    name: str = ""
    node: ast.stmt | None = None

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


class Modules:
    def __init__(self, release: Release) -> None:
        self.release = release
        self._names: dict[str, Names] = {}
        self._files: dict[str, str] = {}

    def file(self, module: str) -> str:
        """ "" where there is no such module."""
        if module not in self._files:
            self._files[module] = self._file(module)
        return self._files[module]

    def _file(self, module: str) -> str:
        base = module.replace(".", "/")
        for path in (f"{base}.py", f"{base}/__init__.py", f"{base}.pyi", f"{base}/__init__.pyi"):
            if self.release.has(path):
                return path
        return ""

    @cached_property
    def _folders(self) -> set[str]:
        """As modules: those without an __init__.py can be imported too."""
        found: set[str] = set()
        for path in self.release.python_files():
            parts = path.split("/")[:-1]
            found |= {".".join(parts[:at]) for at in range(1, len(parts) + 1)}
        return found

    def names(self, module: str) -> Names:
        if module not in self._names:
            found = Names()
            path = self.file(module)
            if path:
                is_package = path.endswith(("/__init__.py", "/__init__.pyi"))
                read(trees.outline(self.release, path).body, module, is_package, found)
            self._names[module] = found
        return self._names[module]

    def find(self, path: str) -> Place:
        """FOUND also for an attribute of what is found: only names of modules are followed."""
        parts = path.split(".")
        if not self.file(parts[0]):
            return Place(UNKNOWN)
        return self._follow(parts[0], parts[1:], set())

    def _follow(self, module: str, parts: list[str], seen: set[tuple[str, str]]) -> Place:
        """`seen` are the names that were followed already: modules import each other."""
        if not parts:
            return Place(FOUND, module)
        if (module, parts[0]) in seen:
            return Place(GONE, module, parts[0])
        seen.add((module, parts[0]))
        answer = Place(UNKNOWN if self.names(module).is_dynamic else GONE, module, parts[0])
        for place in self._ways(module, parts, seen):
            if place.status == FOUND:
                return place
            if place.status == UNKNOWN or answer.status == GONE:
                answer = place  # also where a part further on is gone
        return answer

    def _ways(self, module: str, parts: list[str], seen: set[tuple[str, str]]) -> Iterator[Place]:
        """All that a name of a module may be."""
        name, rest = parts[0], parts[1:]
        names = self.names(module)
        if name in names.defined:
            yield self._inside(module, name, names.defined[name], rest)
        if name in names.imported:
            target, inner = names.imported[name]
            if target.partition(".")[0] in ("torch", "torchgen"):
                yield self._follow_path(target, inner, rest, seen)
            else:
                yield Place(FOUND, target, inner)
        submodule = f"{module}.{name}"
        if self.file(submodule) or submodule in self._folders:
            yield self._follow(submodule, rest, seen)
        for star in names.stars:
            if star.partition(".")[0] != "torch":
                yield Place(UNKNOWN)
            elif (found := self._follow(star, parts, seen)).status != GONE:
                yield found

    def _follow_path(
        self, module: str, name: str, rest: list[str], seen: set[tuple[str, str]]
    ) -> Place:
        if self.file(module):
            return self._follow(module, [name, *rest] if name else rest, seen)
        head, _, last = module.rpartition(".")
        if not head:
            return Place(UNKNOWN)
        return self._follow_path(head, last, [name, *rest] if name else rest, seen)

    def _inside(self, module: str, name: str, node: ast.stmt | None, rest: list[str]) -> Place:
        if not rest or not isinstance(node, ast.ClassDef):
            return Place(FOUND, module, name, node if not rest else None)
        for it in node.body:
            if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef) and it.name == rest[0]:
                return Place(FOUND, module, f"{name}.{rest[0]}", it if len(rest) == 1 else None)
        return Place(FOUND, module, name)  # of a base, say


def read(body: list[ast.stmt], module: str, is_package: bool, into: Names) -> None:
    """The statements of a module that run as it is imported. `module` is its name, for imports that
    begin with a dot."""
    for node in _statements(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            into.defined[node.name] = node
            into.lines.setdefault(node.name, node.lineno)
            into.is_dynamic |= node.name == "__getattr__"
        elif _makes_names(node):
            into.is_dynamic = True
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for it in ast.walk(target):
                    if isinstance(it, ast.Name):
                        into.defined.setdefault(it.id, None)
                        into.lines.setdefault(it.id, node.lineno)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    into.imported[alias.asname] = (alias.name, "")
                else:
                    top = alias.name.partition(".")[0]
                    into.imported[top] = (top, "")
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, module, is_package)
            for alias in node.names:
                if alias.name == "*":
                    into.stars.append(source)
                else:
                    into.imported[alias.asname or alias.name] = (source, alias.name)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Those that run as a module is imported."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, name, []))
            for handler in getattr(node, "handlers", []):
                yield from _statements(handler.body)


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    up = node.level - 1 if is_package else node.level
    base = parts[: len(parts) - up]
    return ".".join([*base, *([node.module] if node.module else [])])


def _makes_names(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.Expr | ast.For) and any(
        isinstance(it, ast.Call) and isinstance(it.func, ast.Name) and it.func.id == "globals"
        for it in ast.walk(node)
    )
