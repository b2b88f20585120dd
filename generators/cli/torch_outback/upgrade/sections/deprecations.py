"""Deprecations that the newer release has and the older one has not, of Python and of C++."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..change import DEPRECATED, Change
from ..cpp import deprecations as of_cpp
from ..project.project import merged
from ..project.python import Use
from ..py import deprecations as of_python
from ..py import signatures, trees
from ..release import INCLUDE, Release
from ..surface import Surface

_SECTION = "deprecations"
_OTHERS = ("torch/_vendor/", "torch/testing/")
_OTHER_HEADERS = tuple(f"{INCLUDE}{it}/" for it in ("fmt", "google", "onnx", "pybind11"))
_MAKERS = ("__init__", "__new__", "__post_init__")


def changes(surface: Surface) -> Iterator[Change]:
    yield from _of_python(surface)
    yield from _of_cpp(surface)


def _of_python(surface: Surface) -> Iterator[Change]:
    paths = sorted({*surface.old.python_files(), *surface.new.python_files()})
    paths = [
        it
        for it in paths
        if not it.startswith(_OTHERS) and _has_another_hint(surface, it, of_python.hints)
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


def _has_another_hint(surface: Surface, path: str, hints: Callable[[str], list[str]]) -> bool:
    texts = [it.text(path) if it.has(path) else "" for it in (surface.old, surface.new)]
    return hints(texts[0]) != hints(texts[1])


def _python(
    release: Release, paths: list[str]
) -> Iterator[tuple[tuple[str, str], tuple[str, bool]]]:
    """The name and the text of each, with the file, and whether it is a decorator."""
    for path in paths:
        if release.has(path):
            module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            for it in of_python.read(trees.tree(release, path)):
                name = f"{module}.{it.name}" if it.name else module
                yield (name, it.text), (path, it.is_decorator)


def _of_cpp(surface: Surface) -> Iterator[Change]:
    paths = sorted({*surface.old.headers(), *surface.new.headers()})
    paths = [it for it in paths if not it.startswith(_OTHER_HEADERS)]
    paths = [it for it in paths if trees.differs(surface.old, surface.new, it)]
    paths = [it for it in paths if _has_another_hint(surface, it, of_cpp.hints)]
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
        for found in of_cpp.read(release.text(path))
    }


def _is_distinct(name: str) -> bool:
    """A word such as `size` is many functions' name: only names of two words count."""
    return len(name) > 5 and ("_" in name.strip("_") or name.lower() != name)
