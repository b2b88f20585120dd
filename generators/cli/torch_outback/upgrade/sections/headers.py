"""Headers of torch/include that the newer release lacks."""

from __future__ import annotations

from collections.abc import Iterator

from ..change import REMOVED, Change, merged
from ..release import INCLUDE
from ..surface import Surface

_SECTION = "headers"
# Of libraries that torch installs with it, or of another device alone.
_OTHERS = ("fmt/", "google/", "nlohmann/", "onnx/", "pybind11/", "sleef", "tensorpipe/", "xnnpack/")


def changes(surface: Surface) -> Iterator[Change]:
    includes = surface.project.cpp.includes
    gone = [it for it in surface.old.headers() if not surface.new.has(it)]
    for path in gone:
        short = path.removeprefix(INCLUDE)
        touches = merged(includes.get(short, ()))
        if touches or not short.startswith(_OTHERS):
            note = _elsewhere(surface, short)
            yield Change(_SECTION, REMOVED, short, path, note=note, touches=touches)


def _elsewhere(surface: Surface, short: str) -> str:
    """Where a header of the same name is new: it may have moved."""
    last = short.rpartition("/")[2]
    for path in surface.new.headers():
        if path.rpartition("/")[2] == last and not surface.old.has(path):
            return f"{path.removeprefix(INCLUDE)} is new, and has this name"
    return ""
