"""_half/manifest.json of a merged wheel: what is in it, and its hashes, which the import checks."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from .. import toolkit
from ..refused import Refused
from . import layout
from .archive import Wheel
from .layout import numbers

_FORMAT = 1


def with_manifest(wheel: Wheel, sources: str, torches: Mapping[str, str]) -> Wheel:
    """`sources` is the hash of the project's; `torches` names the release that each minor one was
    compiled against: {"2.13": "2.13.0+cpu"}.
    """
    package = layout.package(wheel.files)
    path = f"{package}/{layout.MANIFEST}"
    files = {name: content for name, content in wheel.files.items() if name != path}
    entries = {
        str(PurePosixPath(name).relative_to(package)): _entry(name, content, torches)
        for name, content in sorted(files.items())
        if layout.is_library(name) and name.startswith(f"{package}/")
    }
    document = {
        "format": _FORMAT,
        "outback": toolkit.version(),
        "abi": abi(),
        "sources": {"sha256": sources},
        "files": entries,
    }
    text = json.dumps(document, indent=1) + "\n"
    return dataclasses.replace(wheel, files={**files, path: text.encode("utf-8")})


def is_in(wheel: Wheel) -> bool:
    """Whether outback wheel made it."""
    return any(re.fullmatch(rf"[^/]+/{layout.MANIFEST}", path) for path in wheel.files)


def read(wheel: Wheel, name: str) -> dict[str, Any]:
    """Of the merged wheel `name`. Raises Refused."""
    path = f"{layout.package(wheel.files)}/{layout.MANIFEST}"
    try:
        document = json.loads(wheel.files[path])
    except KeyError:
        raise Refused(f"{name} was not made by outback wheel: there is no {path} in it") from None
    except ValueError as error:
        raise Refused(f"{path} of {name} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise Refused(f"{path} of {name} cannot be read: it is no object")
    if document.get("format") != _FORMAT:
        raise Refused(
            f"{path} of {name} has the format {document.get('format')}, and this Outback reads "
            f"{_FORMAT}: pip install --upgrade torch-outback"
        )
    try:
        there = compiled_against(document)
    except (AttributeError, KeyError, TypeError):
        raise Refused(f"{path} of {name} cannot be read: its files are no objects") from None
    if missing := [it for it in layout.torches(wheel.files) if it not in there]:
        raise Refused(f"{path} of {name} does not say what torch {missing[0]} was compiled against")
    return document


def compiled_against(document: Mapping[str, Any]) -> dict[str, str]:
    """The releases of torch by their minor ones, as `with_manifest` takes them."""
    entries = document["files"].values()
    return {minor(it["torch"]): it["torch"] for it in entries if "torch" in it}


def minor(release: str) -> str:
    """The minor one: "2.13" of "2.13.0+cpu"."""
    return ".".join(release.split(".")[:2])


def abi() -> str:
    """Of the contract, as this Outback has it: "1.3"."""
    header = (toolkit.include_dir() / "outback/runtime.h").read_text(encoding="utf-8")
    found = dict(re.findall(r"^#define OUTBACK_ABI_(MAJOR|MINOR) ([0-9]+)$", header, re.MULTILINE))
    return f"{found['MAJOR']}.{found['MINOR']}"


def _entry(path: str, content: bytes, torches: Mapping[str, str]) -> dict[str, str]:
    entry = {"sha256": hashlib.sha256(content).hexdigest()}
    if minor := layout.torch_of(path):
        entry["torch"] = torches[minor]
    if floor := _glibc(content):
        entry["glibc"] = floor
    return entry


def _glibc(library: bytes) -> str:
    """The oldest C library that a compiled file runs on, the newest version that it asks a symbol
    of: "2.34"; "" where it asks for none.

    The names of the versions are in the table of strings, which has nothing else of this form:
    GLIBC_2.34, with a null before it and behind it.
    """
    found = re.findall(rb"\0GLIBC_([0-9]+(?:\.[0-9]+)+)(?=\0)", library)
    return max((version.decode() for version in found), key=numbers, default="")
