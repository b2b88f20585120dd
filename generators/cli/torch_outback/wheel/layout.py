"""Where a backend's package has what: docs/loading.md, and generators/loader/_loading.py."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from ..refused import Refused

MANIFEST = "_half/manifest.json"
_PART = re.compile(r"([^/]+)/_half/torch-([0-9]+\.[0-9]+)/[^/]+\.so")


def package(paths: Iterable[str]) -> str:
    """The one with torch halves in it: "torch_acme". Raises Refused where there is none."""
    found = {match[1] for path in paths if (match := _PART.fullmatch(path))}
    if len(found) != 1:
        raise Refused(
            "expected a wheel with the torch half of one backend in it, as outback_add_backend() "
            f"installs it; this one has {len(found)}"
        )
    return found.pop()


def torch_of(path: str) -> str:
    """The minor release that a part is for: "2.13"; "" for the runtime, and what is no library."""
    match = _PART.fullmatch(path)
    return match[2] if match else ""


def torches(paths: Iterable[str]) -> list[str]:
    """The minor releases that are in the wheel, the oldest first."""
    return sorted({torch_of(path) for path in paths} - {""}, key=numbers)


def is_module(path: str) -> bool:
    """Whether it is a torch half: _C.cpython-311-x86_64-linux-gnu.so."""
    return bool(torch_of(path)) and PurePosixPath(path).name.startswith("_C.")


def is_library(path: str) -> bool:
    """Whether it is compiled: a part of one torch, the runtime, or what the runtime needs."""
    return re.search(r"\.so(\.[0-9.]+)?$", path) is not None


def is_of_runtime(path: str) -> bool:
    """Whether it is compiled, and without torch."""
    return is_library(path) and not torch_of(path)


def is_copied(path: str) -> bool:
    """Whether auditwheel has put it there: torch_acme.libs/libvendor-59c0953a.so."""
    return is_library(path) and re.match(r"[^/]+\.libs/", path) is not None


def needs_torch(path: str, content: bytes) -> bool:
    """Whether it is compiled, has no place for each torch, and asks for torch's libraries, whose
    names are in its table of strings."""
    libraries = re.search(rb"\0lib(torch|c10)[a-z0-9_]*\.so\0", content)
    return is_of_runtime(path) and libraries is not None


def numbers(release: str) -> tuple[int, ...]:
    """To compare releases by: "2.9" is older than "2.13"."""
    return tuple(map(int, release.split(".")))
