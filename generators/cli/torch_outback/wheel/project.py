"""The project whose wheel is made: what its pyproject.toml says."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from ..refused import Refused

if sys.version_info >= (3, 11):
    import tomllib
else:  # of setuptools, pip and scikit-build-core's own dependencies
    import tomli as tomllib


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

    @property
    def name(self) -> str:
        return self.pyproject["project"]["name"]

    @property
    def has_dynamic_version(self) -> bool:
        """Whether the build finds its version: in git, say."""
        return "version" in self.pyproject.get("project", {}).get("dynamic", [])


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
