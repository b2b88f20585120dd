"""Deprecations that the newer release has and the older one has not.

Of Python: by a decorator, or by a warning of the classes FutureWarning and DeprecationWarning;
warnings that another function gives are not seen. Of C++: [[deprecated]], C10_DEPRECATED and
C10_DEPRECATED_MESSAGE.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..change import DEPRECATED, Change, merged
from ..cpp import source
from ..project.python import Use
from ..py import signatures, trees
from ..release import INCLUDE, Release
from ..surface import Surface

_SECTION = "deprecations"


def changes(surface: Surface) -> Iterator[Change]:
    yield from _of_python(surface)
    yield from _of_cpp(surface)


def _has_another_hint(surface: Surface, path: str, hints: Callable[[str], list[str]]) -> bool:
    texts = [it.text(path) if it.has(path) else "" for it in (surface.old, surface.new)]
    return hints(texts[0]) != hints(texts[1])


# ---- Python

_OTHERS = ("torch/_vendor/", "torch/testing/")
_MAKERS = ("__init__", "__new__", "__post_init__")
_WARNINGS = ("FutureWarning", "DeprecationWarning")
_MOST = 300  # characters of a message


def _of_python(surface: Surface) -> Iterator[Change]:
    paths = sorted({*surface.old.python_files(), *surface.new.python_files()})
    paths = [
        it
        for it in paths
        if not it.startswith(_OTHERS) and _has_another_hint(surface, it, _python_hints)
    ]
    old = dict(_python(surface.old, paths))
    texts = {text for _, text in old}
    for (name, text), (where, is_decorator) in _python(surface.new, paths):
        if (name, text) not in old and (not text or text not in texts):
            owner, _, last = name.rpartition(".")
            named = owner if last in _MAKERS else name
            uses = surface.uses_of(named)
            if not is_decorator:
                uses = list(_warned(surface, named, text, uses))
            touches = merged(it.touch for it in uses)
            yield Change(_SECTION, DEPRECATED, named, where, note=text, touches=touches)


def _warned(surface: Surface, name: str, text: str, uses: list[Use]) -> Iterator[Use]:
    """Those that a warning may be for: calls, and if its text names parameters, calls with one of
    these. All uses of what is no function."""
    function = signatures.function_of(surface.new_modules.find(name).node)
    if function is None:
        yield from uses
        return
    meant = signatures.parameters(function) & set(re.findall(r"\w+", text))
    for use in uses:
        if use.call and (not meant or use.call.is_open or use.call.keywords & meant):
            yield use


def _python(
    release: Release, paths: list[str]
) -> Iterator[tuple[tuple[str, str], tuple[str, bool]]]:
    """The name and the text of each, with the file, and whether it is a decorator."""
    for path in paths:
        if release.has(path):
            module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            for it in _python_said(trees.tree(release, path)):
                name = f"{module}.{it.name}" if it.name else module
                yield (name, it.text), (path, it.is_decorator)


def _python_hints(text: str) -> list[str]:
    """The lines that say so: a file where these are as they were has no new deprecation, whatever
    else changed in it."""
    words = ("deprecated(", *_WARNINGS)
    if not any(it in text for it in words):
        return []
    return sorted(it.strip() for it in text.split("\n") if any(word in it for word in words))


@dataclass(frozen=True)
class _Said:
    """`name` is that of the function or the class in its module, "" for the module. A decorator
    speaks of all uses, a warning of some: of those with an argument, say."""

    name: str
    text: str
    is_decorator: bool


def _python_said(tree: ast.Module) -> Iterator[_Said]:
    yield from _inside(tree, ())


def _inside(node: ast.AST, scope: tuple[str, ...]) -> Iterator[_Said]:
    for it in ast.iter_child_nodes(node):
        if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*scope, it.name)
            for decorator in it.decorator_list:
                if isinstance(decorator, ast.Call) and _called(decorator) == "deprecated":
                    yield _Said(".".join(inner), _message(decorator), True)
            yield from _inside(it, inner)
            continue
        if isinstance(it, ast.Call) and _called(it) in ("warn", "warn_once") and _is_of_class(it):
            yield _Said(".".join(scope), _message(it), False)
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


# ---- C++

_OTHER_HEADERS = tuple(f"{INCLUDE}{it}/" for it in ("fmt", "google", "onnx", "pybind11"))
_LITERAL = r'"(?:\\.|[^"\\])*"'
_MARK = re.compile(
    rf"\[\[\s*deprecated\s*(?:\((?P<text>(?:\s*{_LITERAL})*)\s*\))?\s*\]\]"
    rf"|\bC10_DEPRECATED_MESSAGE\((?P<message>(?:\s*{_LITERAL})*)\s*\)"
    r"|\bC10_DEPRECATED\b(?!_)(?!\s*\()"
)
_DEFINE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# The name is the last word before what follows a name.
_BEHIND = re.compile(r"[^;{(=]*?([A-Za-z_]\w*)\s*(?:[;{(=]|:(?!:))")
_BEFORE = re.compile(r"\busing\s+(\w+)\s*\Z")
_PIECE = re.compile(r'"((?:\\.|[^"\\])*)"')


def _of_cpp(surface: Surface) -> Iterator[Change]:
    paths = sorted({*surface.old.headers(), *surface.new.headers()})
    paths = [it for it in paths if not it.startswith(_OTHER_HEADERS)]
    paths = [it for it in paths if trees.differs(surface.old, surface.new, it)]
    paths = [it for it in paths if _has_another_hint(surface, it, _cpp_hints)]
    old = _cpp(surface.old, paths)
    new = {it: where for it, where in _cpp(surface.new, paths).items() if it not in old}
    named = surface.project.cpp.words(name for name, _ in new if _is_distinct(name))
    for (name, text), where in new.items():
        touches = merged(named.get(name, ()))
        yield Change(_SECTION, DEPRECATED, name, where, note=text, touches=touches)


def _cpp(release: Release, paths: list[str]) -> dict[tuple[str, str], str]:
    return {
        found: path
        for path in paths
        if release.has(path)
        for found in _cpp_said(release.text(path))
    }


def _is_distinct(name: str) -> bool:
    """A word such as `size` is many functions' name: only names of two words count."""
    return len(name) > 5 and ("_" in name.strip("_") or name.lower() != name)


def _cpp_hints(text: str) -> list[str]:
    """The lines that say so: a header where these are as they were has no new deprecation."""
    if "deprecated" not in text and "C10_DEPRECATED" not in text:
        return []
    words = ("[[deprecated", "C10_DEPRECATED")
    return sorted(it.strip() for it in text.split("\n") if any(word in it for word in words))


def _cpp_said(text: str) -> Iterator[tuple[str, str]]:
    """The name of each declaration, without its namespace, with the message, if there is one."""
    code = _DEFINE.sub("", source.without_comments(text))
    for mark in _MARK.finditer(code):
        before = _BEFORE.search(code, max(0, mark.start() - 120), mark.start())
        found = before or _BEHIND.match(code, mark.end())
        if found:
            message = "".join(_PIECE.findall(mark["text"] or mark["message"] or ""))
            yield found[1], " ".join(message.split())
