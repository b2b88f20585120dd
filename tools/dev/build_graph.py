"""What the build tree is made of: targets, their sources and what they depend on, as CMake says it.

CMake writes it where its file API is asked: https://cmake.org/cmake/help/latest/manual/cmake-file-api.7.html
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from . import console

_API = ".cmake/api/v1"


def ask(folder: Path) -> None:
    """Leaves the question that CMake answers when it next configures `folder`."""
    query = folder / _API / "query/codemodel-v2"
    if not query.exists():
        query.parent.mkdir(parents=True, exist_ok=True)
        query.touch()


def is_answered(folder: Path) -> bool:
    return bool(list((folder / _API / "reply").glob("codemodel-v2-*.json")))


@dataclass(frozen=True)
class Target:
    name: str
    kind: str  # EXECUTABLE, STATIC_LIBRARY, ...
    sources: frozenset[Path]  # relative to the root of the tree
    artifacts: tuple[Path, ...]  # relative to the build tree
    needs: frozenset[str]  # names of targets


class Graph:
    def __init__(self, targets: Iterable[Target]) -> None:
        self.targets = {target.name: target for target in targets}
        self._users: dict[str, set[str]] = {name: set() for name in self.targets}
        for target in self.targets.values():
            for needed in target.needs:
                self._users[needed].add(target.name)

    def compiling(self, source: Path) -> set[str]:
        """The targets that `source` is a part of; of a header, those of its neighbours."""
        found = {name for name, target in self.targets.items() if source in target.sources}
        if found or source.suffix not in (".h", ".hpp", ".inc"):
            return found
        return {
            name
            for name, target in self.targets.items()
            if any(each.parent == source.parent for each in target.sources)
        }

    def users(self, names: Iterable[str]) -> set[str]:
        """The targets that have to be built anew when those do: themselves, and all above them."""
        found, pending = set(), set(names)
        while pending:
            name = pending.pop()
            found.add(name)
            pending |= self._users[name] - found
        return found

    def programs(self, names: Iterable[str]) -> set[str]:
        return {name for name in names if self.targets[name].kind == "EXECUTABLE"}

    def making(self, pattern: str) -> set[str]:
        """The targets that leave something in the folders of the build tree that match."""
        return {
            name
            for name, target in self.targets.items()
            for artifact in target.artifacts
            if any(fnmatch(os.fspath(folder), pattern) for folder in artifact.parents)
        }


def read(folder: Path) -> Graph:
    replies = sorted((folder / _API / "reply").glob("codemodel-v2-*.json"))
    if not replies:
        raise console.Failure(f"{folder} is not configured.")
    model = json.loads(replies[-1].read_text("utf-8"))
    listed = model["configurations"][0]["targets"]
    name_of = {each["id"]: each["name"] for each in listed}
    targets = []
    for each in listed:
        file = json.loads((replies[-1].parent / each["jsonFile"]).read_text("utf-8"))
        targets.append(
            Target(
                name=each["name"],
                kind=file["type"],
                sources=frozenset(Path(source["path"]) for source in file.get("sources", ())),
                artifacts=tuple(
                    _within(folder, Path(made["path"])) for made in file.get("artifacts", ())
                ),
                needs=frozenset(
                    name_of[need["id"]]
                    for need in file.get("dependencies", ())
                    if need["id"] in name_of
                ),
            )
        )
    return Graph(targets)


def _within(folder: Path, path: Path) -> Path:
    return path.relative_to(folder) if path.is_absolute() else path
