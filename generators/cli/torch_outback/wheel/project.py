"""The project whose wheel is made: what its pyproject.toml says."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from .. import variables
from ..refused import Refused

if sys.version_info >= (3, 11):
    import tomllib
else:  # of setuptools, pip and scikit-build-core's own dependencies
    import tomli as tomllib

_TABLE, _TEXT, _TEXTS = "a table", "a text", "a list of texts"
_READ = {
    "build-system": _TABLE,
    "build-system.build-backend": _TEXT,
    "build-system.requires": _TEXTS,
    "project": _TABLE,
    "project.dependencies": _TEXTS,
    "project.dynamic": _TEXTS,
    "project.name": _TEXT,
    "tool": _TABLE,
    "tool.scikit-build": _TABLE,
    "tool.scikit-build.cmake": _TABLE,
    "tool.scikit-build.cmake.source-dir": _TEXT,
}
_MOST = 100  # letters of a value that is shown


@dataclass(frozen=True)
class Project:
    folder: Path
    pyproject: dict[str, Any]

    def build_requirements(self) -> list[str]:
        """Without torch, whose release is the half's, and Outback, which is this one."""
        return _others(self.pyproject["build-system"]["requires"], ("torch", "torch-outback"))

    def dependencies(self) -> list[str]:
        """Without torch; what `dynamic` adds is not known before the build."""
        return _others(self.pyproject["project"].get("dependencies", []), ("torch",))

    @property
    def may_require_torch(self) -> bool:
        """As far as it is known before the build."""
        project = self.pyproject["project"]
        names_torch = self.dependencies() != project.get("dependencies", [])
        return names_torch or "dependencies" in project.get("dynamic", [])

    @property
    def name(self) -> str:
        return self.pyproject["project"]["name"]

    @property
    def has_dynamic_version(self) -> bool:
        """Whether the build finds its version: in git, say."""
        return "version" in self.pyproject["project"].get("dynamic", [])


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
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused(f"{file} cannot be read: {error}") from None
    for key, expected in _READ.items():
        value = _value(pyproject, key)
        if value is not None and not _is(expected, value):
            shown = variables.printable(repr(value)[:_MOST])
            raise Refused(f"{file}: {key} is {shown}: expected {expected}")
    if _value(pyproject, "build-system.build-backend") != "scikit_build_core.build":
        raise Refused(
            f"{file}: outback wheel builds with scikit-build-core, and this project names another "
            f"build-backend"
        )
    for key in ("build-system.requires", "project.name"):
        if _value(pyproject, key) is None:
            raise Refused(f"{file} has no {key}")
    lists = folder / (_value(pyproject, "tool.scikit-build.cmake.source-dir") or ".")
    lists /= "CMakeLists.txt"
    if not lists.is_file() or not re.search(r"\bOutback\b", lists.read_text("utf-8", "replace")):
        raise Refused(f"{folder} is no project of Outback: no CMakeLists.txt in it finds Outback")
    return Project(folder.resolve(), pyproject)


def _value(pyproject: dict[str, Any], key: str) -> Any:
    """None where there is none; what the key goes through has to be tables."""
    found: Any = pyproject
    for part in key.split("."):
        if part not in found:
            return None
        found = found[part]
    return found


def _is(expected: str, value: Any) -> bool:
    if expected == _TEXTS:
        return isinstance(value, list) and all(isinstance(it, str) for it in value)
    return isinstance(value, dict if expected == _TABLE else str)


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
