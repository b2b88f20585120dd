"""The project whose wheel is made: what its pyproject.toml says, and the hash of its sources."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from ..refused import Refused

if sys.version_info >= (3, 11):
    import tomllib
else:  # of setuptools, pip and scikit-build-core's own dependencies
    import tomli as tomllib

# Made by tools in any folder, and by builds in the project's own: no sources.
_MADE = {"__pycache__", "node_modules"}
_NO_SOURCES = {".log", ".pyc", ".whl"}  # a log may be of the very command that asks
_MADE_AT_THE_TOP = {"build", "dist", "wheelhouse"}


@dataclass(frozen=True)
class Project:
    folder: Path
    pyproject: dict[str, Any]

    def build_requirements(self) -> list[str]:
        """Without torch, whose release is the half's, and Outback, which is this one."""
        return _others(self.pyproject["build-system"]["requires"], ("torch", "torch-outback"))

    def dependencies(self) -> list[str]:
        """Without torch; what `dynamic` adds is not known before the build."""
        return _others(self.pyproject.get("project", {}).get("dependencies", []), ("torch",))

    def hash_of_sources(self, without: Sequence[Path] = ()) -> str:
        """Of the names and contents of all that is no product of a build, as the folders `without`
        are: what a half is compiled of is among it."""
        digest = hashlib.sha256()
        for file in _files(self.folder, {folder.resolve() for folder in without}):
            content = file.read_bytes()
            name = file.relative_to(self.folder)
            digest.update(f"{name}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
        return digest.hexdigest()


def load(folder: Path) -> Project:
    """Raises Refused for what is no project of Outback's."""
    file = folder / "pyproject.toml"
    try:
        pyproject = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refused(
            f"{folder} is no project of Outback: there is no pyproject.toml in it; `outback new` "
            f"makes one"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Refused(f"{file} cannot be read: {error}") from None
    system = pyproject.get("build-system", {})
    if system.get("build-backend") != "scikit_build_core.build" or "requires" not in system:
        raise Refused(
            f"{file}: outback wheel builds with scikit-build-core, and this project names another "
            f"build-backend"
        )
    lists = folder / "CMakeLists.txt"
    if not lists.is_file() or not re.search(r"\bOutback\b", lists.read_text("utf-8", "replace")):
        raise Refused(f"{folder} is no project of Outback: no CMakeLists.txt in it finds Outback")
    return Project(folder.resolve(), pyproject)


def _others(requirements: Sequence[str], known: Sequence[str]) -> list[str]:
    """Those that name no project of `known`."""
    found = []
    for text in requirements:
        try:
            name = Requirement(text).name.lower().replace("_", "-")
        except InvalidRequirement as error:
            raise Refused(f"pyproject.toml: {text!r} is no requirement: {error}") from None
        if name not in known:
            found.append(text)
    return found


def _files(folder: Path, without: set[Path]) -> Iterator[Path]:
    """In an order that is the same everywhere. Links to folders are followed, each folder once."""
    seen = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        here = Path(place)
        if here.resolve() in seen:
            folders.clear()
            continue
        seen.add(here.resolve())
        made = _MADE | _MADE_AT_THE_TOP if here == folder else _MADE
        folders[:] = sorted(
            name
            for name in folders
            if name not in made
            and not name.startswith(".")
            and not name.endswith(".egg-info")
            and not (here / name / "pyvenv.cfg").exists()
            and (here / name).resolve() not in without
        )
        yield from (here / name for name in sorted(names) if _is_source(here / name))


def _is_source(file: Path) -> bool:
    """A git clone's .git may be a file; a link may lead nowhere."""
    return file.is_file() and not file.name.startswith(".") and file.suffix not in _NO_SOURCES
