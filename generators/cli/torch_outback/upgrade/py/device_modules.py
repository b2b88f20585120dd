"""The names that a Python file of torch asks of a device's module, torch.<device>.

An expression is taken for the module if it is
- a call of get_device_module, _get_device_module or _get_device_handle;
- getattr(torch, X), where the words of X speak of a device, a backend or an accelerator;
- a variable or an attribute that is assigned such an expression in the file, or that has a name
  that torch's own code has for it: device_module, device_mod, device_handle, custom_device_mod.
Asked for are its attributes, and the constant names in getattr, hasattr and _get_custom_mod_func.
A name that is computed, or that C++ asks for, is not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_CALLS = {"get_device_module", "_get_device_module", "_get_device_handle"}
_NAMES = re.compile(r"_?(custom_)?device_(mod|module|handle)")
_SPEAKS = re.compile(r"device|backend|accelerator|\bacc\b|privateuse", re.IGNORECASE)
_NO_DEVICE = re.compile(r"dtype|\.split\(")
_HINTS = (
    *("get_device_module", "_get_device_handle", "_get_custom_mod_func"),
    *("device_mod", "device_handle"),
)
_GETATTR = re.compile(r"getattr\(\s*torch,\s*([^)]*)")


def may_ask(text: str) -> bool:
    """Whether a file is worth parsing."""
    if any(it in text for it in _HINTS):
        return True
    return "getattr(" in text and any(_SPEAKS.search(it[1]) for it in _GETATTR.finditer(text))


@dataclass(frozen=True)
class Asked:
    """`is_optional`: torch does without, since it asks by hasattr or with a default."""

    name: str
    line: int
    is_optional: bool


def asked(tree: ast.Module) -> Iterator[Asked]:
    nodes = list(ast.walk(tree))
    found = _Finder(nodes)
    for node in nodes:
        if isinstance(node, ast.Attribute) and found.is_module(node.value):
            if isinstance(node.ctx, ast.Load):
                yield Asked(node.attr, node.lineno, node.attr in found.tested)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from _in_call(found, node, node.func.id)


def _in_call(found: _Finder, node: ast.Call, function: str) -> Iterator[Asked]:
    if function == "_get_custom_mod_func" and node.args and (name := found.text(node.args[0])):
        yield Asked(name, node.lineno, False)
    elif function in ("getattr", "hasattr") and len(node.args) > 1:
        name = found.text(node.args[1])
        if name and found.is_module(node.args[0]):
            is_optional = function == "hasattr" or len(node.args) == 3 or name in found.tested
            yield Asked(name, node.lineno, is_optional)


class _Finder:
    def __init__(self, nodes: list[ast.AST]) -> None:
        self._variables: set[str] = set()
        self._texts: dict[str, str] = {}
        self.tested: set[str] = set()  # by hasattr
        assignments = [it for it in nodes if isinstance(it, ast.Assign | ast.NamedExpr)]
        for it in assignments:
            targets = it.targets if isinstance(it, ast.Assign) else [it.target]
            if isinstance(it.value, ast.Constant) and isinstance(it.value.value, str):
                self._texts |= {_path(target): it.value.value for target in targets}
        size = -1
        while size < len(self._variables):
            size = len(self._variables)
            for it in assignments:
                if self.is_module(it.value):
                    targets = it.targets if isinstance(it, ast.Assign) else [it.target]
                    self._variables |= {_path(target) for target in targets} - {""}
        for node in nodes:
            if isinstance(node, ast.Call) and _is_hasattr(node) and self.is_module(node.args[0]):
                self.tested |= {self.text(node.args[1])} - {""}

    def text(self, node: ast.expr) -> str:
        """Of a constant, also of one that has a name in the file."""
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else ""
        return self._texts.get(_path(node), "")

    def is_module(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name | ast.Attribute):
            last = node.id if isinstance(node, ast.Name) else node.attr
            if _NAMES.fullmatch(last):
                return True
            return bool(self._variables) and _path(node) in self._variables
        if isinstance(node, ast.IfExp):
            return self.is_module(node.body) or self.is_module(node.orelse)
        if isinstance(node, ast.BoolOp):
            return any(map(self.is_module, node.values))
        if not isinstance(node, ast.Call):
            return False
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else ""
        name = function.id if isinstance(function, ast.Name) else name
        if name in _CALLS:
            return True
        is_getattr = name == "getattr" and len(node.args) > 1
        if not is_getattr or _path(node.args[0]) != "torch":
            return False
        words = ast.unparse(node.args[1])
        is_constant = isinstance(node.args[1], ast.Constant)
        return not is_constant and bool(_SPEAKS.search(words)) and not _NO_DEVICE.search(words)


def _is_hasattr(node: ast.Call) -> bool:
    is_name = isinstance(node.func, ast.Name) and node.func.id == "hasattr"
    return is_name and len(node.args) == 2


def _path(node: ast.expr) -> str:
    """Dotted; "" for what is more than names."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(names))) if isinstance(node, ast.Name) else ""
