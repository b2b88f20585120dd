"""What a Python file of torch says is deprecated: by a decorator, or by a warning of the classes
FutureWarning and DeprecationWarning. Warnings that another function gives are not seen."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_WARNINGS = ("FutureWarning", "DeprecationWarning")
_MOST = 300  # characters of a message


def hints(text: str) -> list[str]:
    """The lines that say so: a file where these are as they were has no new deprecation, whatever
    else changed in it."""
    words = ("deprecated(", *_WARNINGS)
    if not any(it in text for it in words):
        return []
    return sorted(it.strip() for it in text.split("\n") if any(word in it for word in words))


@dataclass(frozen=True)
class Deprecation:
    """`name` is that of the function or the class in its module, "" for the module. A decorator
    speaks of all uses, a warning of some: of those with an argument, say."""

    name: str
    text: str
    is_decorator: bool


def read(tree: ast.Module) -> Iterator[Deprecation]:
    yield from _inside(tree, ())


def _inside(node: ast.AST, scope: tuple[str, ...]) -> Iterator[Deprecation]:
    for it in ast.iter_child_nodes(node):
        if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*scope, it.name)
            for decorator in it.decorator_list:
                if isinstance(decorator, ast.Call) and _called(decorator) == "deprecated":
                    yield Deprecation(".".join(inner), _message(decorator), True)
            yield from _inside(it, inner)
            continue
        if isinstance(it, ast.Call) and _called(it) in ("warn", "warn_once") and _is_of_class(it):
            yield Deprecation(".".join(scope), _message(it), False)
        yield from _inside(it, scope)


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_of_class(node: ast.Call) -> bool:
    values = [*node.args[1:], *(it.value for it in node.keywords if it.arg == "category")]
    return any(isinstance(it, ast.Name) and it.id in _WARNINGS for it in values)


def _message(node: ast.Call) -> str:
    values = [*node.args[:1], *(it.value for it in node.keywords if it.arg == "message")]
    text = " ".join(_text(values[0]).split()) if values else ""
    return text if len(text) <= _MOST else f"{text[: _MOST - 3]}..."


def _text(node: ast.expr) -> str:
    """{...} stands for what is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(it) for it in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return f"{{{ast.unparse(node.value if isinstance(node, ast.FormattedValue) else node)}}}"
