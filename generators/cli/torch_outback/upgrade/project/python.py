"""What Python sources name of torch: dotted names behind their imports, texts, and classes.

Names are taken by a file's imports, wherever in the file these stand. What is assigned to a
variable and used from there is not seen, and neither is Python text inside of a string.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field

from ..change import Touch
from ..py import modules, trees
from ..py.modules import Names
from .files import Source

_IMPORTS = "imports it"


@dataclass(frozen=True)
class Call:
    """Arguments: how many have no name, and the names of the others."""

    positional: int
    keywords: frozenset[str]
    is_open: bool  # has *arguments or **arguments, of which nothing is known


@dataclass(frozen=True)
class Use:
    """`path` is dotted: "torch.library.Library". `call` is how it is called there, if it is."""

    path: str
    touch: Touch
    call: Call | None = None
    is_replaced: bool = False  # something else is assigned to it


@dataclass
class PythonClass:
    """`bases` are dotted where the file imports them; ".Name" behind a relative import, "file:Name"
    for a class of the same file. `members` has the line of each method and attribute of the class's
    body, `asked` those of self.NAME, cls.NAME and super().NAME."""

    name: str
    file: str
    line: int
    bases: tuple[str, ...]
    members: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    def is_base_of(self, other: PythonClass) -> bool:
        """As far as names say so."""
        for base in other.bases:
            is_elsewhere = not base.startswith("torch.") and ":" not in base
            if base == f"{self.file}:{self.name}" or (
                is_elsewhere and base.rpartition(".")[2] == self.name
            ):
                return True
        return False


@dataclass
class PythonSources:
    """`defined` has the functions, classes and values of modules."""

    sources: list[Source]
    uses: list[Use] = field(default_factory=list)
    strings: dict[str, list[Touch]] = field(default_factory=lambda: defaultdict(list))
    defined: dict[str, list[Touch]] = field(default_factory=lambda: defaultdict(list))
    classes: list[PythonClass] = field(default_factory=list)


def read(sources: list[Source], unread: dict[str, str]) -> PythonSources:
    """`unread` gets those that cannot be parsed, with the reasons."""
    found = PythonSources(sources)
    for source in sources:
        try:
            _File(found, source.name, trees.parse(source.text)).read()
        except trees.NotParsed as error:
            unread[source.name] = str(error)
        except RecursionError:
            unread[source.name] = trees.TOO_DEEP
    return found


class _File:
    def __init__(self, into: PythonSources, name: str, tree: ast.Module) -> None:
        self._into = into
        self._name = name
        self._tree = tree
        self._imported: dict[str, str] = {}  # by the name in this file

    def read(self) -> None:
        nodes = list(ast.walk(self._tree))
        names = Names()
        modules.read(self._tree.body, "", False, names)
        for name, line in names.lines.items():
            self._into.defined[name].append(Touch(self._name, line, "defines it"))
        for node in nodes:
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
        inner = {
            id(it.value)
            for it in nodes
            if isinstance(it, ast.Attribute) and isinstance(it.value, ast.Attribute | ast.Name)
        }
        called = {id(it.func): it for it in nodes if isinstance(it, ast.Call)}
        for node in nodes:
            if isinstance(node, ast.Attribute | ast.Name):
                if id(node) not in inner and (path := self._path(node)):
                    is_stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                    how = "replaces it" if is_stored else "uses it"
                    self._use(path, node.lineno, how, called.get(id(node)), is_stored)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                if len(node.value) < 200:
                    touch = Touch(self._name, node.lineno, "names it in a text")
                    self._into.strings[node.value].append(touch)
            elif isinstance(node, ast.ClassDef):
                self._class(node)
            elif isinstance(node, ast.Call):
                self._made_class(node)
                self._set_attribute(node)

    def _use(
        self, path: str, line: int, how: str, node: ast.Call | None = None, is_stored: bool = False
    ) -> None:
        if path.startswith("torch."):
            touch = Touch(self._name, line, how)
            self._into.uses.append(Use(path, touch, _call(node) if node else None, is_stored))

    def _set_attribute(self, node: ast.Call) -> None:
        """setattr(torch.library, "impl", ...)."""
        if not isinstance(node.func, ast.Name) or node.func.id != "setattr" or len(node.args) != 3:
            return
        owner, name, _ = node.args
        path = self._path(owner)
        if path and isinstance(name, ast.Constant) and isinstance(name.value, str):
            self._use(f"{path}.{name.value}", node.lineno, "replaces it", is_stored=True)

    def _import(self, node: ast.Import) -> None:
        for it in node.names:
            if it.asname:
                self._imported[it.asname] = it.name
            else:
                top = it.name.partition(".")[0]
                self._imported[top] = top
            self._use(it.name, node.lineno, _IMPORTS)

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            for it in node.names:
                self._imported.setdefault(it.asname or it.name, "")
            return
        for it in node.names:
            if it.name == "*":
                self._use(node.module, node.lineno, _IMPORTS)
                continue
            self._imported[it.asname or it.name] = f"{node.module}.{it.name}"
            self._use(f"{node.module}.{it.name}", node.lineno, _IMPORTS)

    def _path(self, node: ast.expr) -> str:
        """Dotted, by the imports; "" for what is not imported."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or not self._imported.get(node.id):
            return ""
        return ".".join((self._imported[node.id], *reversed(names)))

    def _class(self, node: ast.ClassDef) -> None:
        bases = tuple(filter(None, map(self._base, node.bases)))
        found = PythonClass(node.name, self._name, node.lineno, bases)
        for it in node.body:
            if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.members.setdefault(it.name, it.lineno)
            targets = it.targets if isinstance(it, ast.Assign) else []
            if isinstance(it, ast.AnnAssign):
                targets = [it.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found.members.setdefault(target.id, it.lineno)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute) and _is_own(inner.value):
                found.asked.setdefault(inner.attr, inner.lineno)
        self._into.classes.append(found)

    def _base(self, node: ast.expr) -> str:
        if isinstance(node, ast.Subscript):
            node = node.value
        if path := self._path(node):
            return path
        if not isinstance(node, ast.Name):
            return ""
        return f".{node.id}" if node.id in self._imported else f"{self._name}:{node.id}"

    def _made_class(self, node: ast.Call) -> None:
        """type("Name", (Base,), members): all functions of the file and all keys of its dicts count
        as members, since `members` may be made anywhere in it."""
        if not isinstance(node.func, ast.Name) or node.func.id != "type" or len(node.args) != 3:
            return
        name, bases, _ = node.args
        if not isinstance(name, ast.Constant) or not isinstance(bases, ast.Tuple):
            return
        paths = tuple(filter(None, map(self._base, bases.elts)))
        found = PythonClass(str(name.value), self._name, node.lineno, paths)
        for it in ast.walk(self._tree):
            if isinstance(it, ast.FunctionDef):
                found.members.setdefault(it.name, it.lineno)
            elif isinstance(it, ast.Dict):
                for key in it.keys:
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        found.members.setdefault(key.value, key.lineno)
            elif isinstance(it, ast.keyword) and it.arg:
                found.members.setdefault(it.arg, it.value.lineno)
        self._into.classes.append(found)


def _call(node: ast.Call) -> Call:
    names = [it.arg for it in node.keywords]
    is_open = None in names or any(isinstance(it, ast.Starred) for it in node.args)
    return Call(len(node.args), frozenset(it for it in names if it), is_open)


def _is_own(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id in ("self", "cls")
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "super"
