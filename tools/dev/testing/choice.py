"""A choice of tests, and what has to be built for them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .. import build_graph
from ..build_graph import Graph
from . import entries, fixtures
from .entries import Entry
from .index import CppTest
from .suites import Suite


@dataclass
class Choice:
    whole: set[str] = field(default_factory=set)  # ctest's entries, by name
    # Entries that are a whole GoogleTest program, and which of its tests.
    filtered: dict[str, set[str]] = field(default_factory=dict)
    python: dict[Suite, list[str]] = field(default_factory=dict)  # files, folders, node ids
    targets: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.whole or self.filtered or self.python)

    def add_python(self, suite: Suite, test: str) -> None:
        """And not what is a part of something that is chosen."""
        chosen = self.python.setdefault(suite, [])
        if not any(_covers(each, test) for each in chosen):
            chosen[:] = [each for each in chosen if not _covers(test, each)] + [test]


    def add(self, other: "Choice") -> None:
        self.whole |= other.whole
        for entry, filters in other.filtered.items():
            self.filtered.setdefault(entry, set()).update(filters)
        for entry in self.whole:
            self.filtered.pop(entry, None)
        for suite, tests in other.python.items():
            for test in tests:
                self.add_python(suite, test)
        self.targets |= other.targets


def _covers(whole: str, test: str) -> bool:
    return test == whole or test.startswith((f"{whole}/", f"{whole}::"))


class Tree:
    """A build tree that is configured: finds entries of ctest and the targets behind them."""

    @classmethod
    def read(cls, folder: Path) -> "Tree":
        return cls(folder, build_graph.read(folder), entries.read(folder))

    def __init__(self, folder: Path, graph: Graph, entries: list[Entry]) -> None:
        self.folder = folder
        self.graph = graph
        self.entries = entries
        self._of_artifact = {
            str(folder / artifact): name
            for name, target in self.graph.targets.items()
            for artifact in target.artifacts
        }

    def targets_of(self, entry: Entry) -> set[str]:
        """What its command runs, or hands to another program."""
        return {self._of_artifact[word] for word in entry.command if word in self._of_artifact}

    def add(self, choice: Choice, chosen: Iterable[Entry]) -> None:
        for entry in chosen:
            choice.targets |= self.targets_of(entry)
            choice.whole.add(entry.name)
            choice.filtered.pop(entry.name, None)

    def add_tests(self, choice: Choice, tests: Iterable[CppTest]) -> None:
        """Each in the programs that it is compiled into."""
        for test in tests:
            direct = self.graph.compiling(Path(test.file))
            users = self.graph.programs(self.graph.users(direct))
            for entry in self.entries:
                if not self.targets_of(entry) & users:
                    continue
                if not entry.built or entry.name.endswith(f".{test.full}"):
                    self.add(choice, [entry])
                elif entry.is_whole_program and entry.name not in choice.whole:
                    choice.targets |= self.targets_of(entry)
                    choice.filtered.setdefault(entry.name, set()).update(test.filters)

    def add_users(self, choice: Choice, sources: Iterable[Path]) -> None:
        """All entries whose program has to be linked anew when these sources change."""
        compiling = {name for source in sources for name in self.graph.compiling(source)}
        users = self.graph.users(compiling)
        self.add(choice, [entry for entry in self.entries if self.targets_of(entry) & users])

    def add_matching(self, choice: Choice, pattern: str) -> None:
        """The entries whose names a regular expression finds."""
        self.add(choice, [entry for entry in self.entries if re.search(pattern, entry.name)])

    def add_folder(self, choice: Choice, folder: str) -> None:
        """The entries that the CMakeLists.txt files of a folder of tests add."""
        inside = [entry for entry in self.entries if f"{entry.folder}/".startswith(f"{folder}/")]
        self.add(choice, inside)

    def add_python(self, choice: Choice, suite: Suite, tests: Iterable[str]) -> None:
        tests = list(tests)
        for test in tests:
            choice.add_python(suite, test)
        choice.targets |= fixtures.targets(suite, tests, self.graph, self.folder)
