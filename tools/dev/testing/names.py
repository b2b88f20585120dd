"""What somebody means who names tests: paths, sources, names of tests, entries of ctest."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from .. import console
from ..paths import ROOT
from . import areas, suites
from .choice import Choice, Tree
from .index import Index, is_pytest_file
from .near import near
from .suites import Suite

_CPP = (".c", ".cpp", ".h", ".hpp", ".inc")


class Names:
    """`on` are the suites that tests of tests/python run on."""

    def __init__(self, tree: Tree, index: Index, on: Sequence[Suite]) -> None:
        self._tree = tree
        self._index = index
        self._on = on

    def choose(self, words: Sequence[str]) -> Choice:
        choice = Choice()
        for word in words:
            own = Choice()  # that another word has chosen the same tests is no mistake
            path = self._path(word)
            if path is not None:
                self._add_path(own, path, word.partition("::")[2])
            elif not self._add_name(own, word):
                raise console.WrongUsage(
                    f"There is no test, file or folder {word}.{near(word, self._known())}"
                )
            choice.add(own)
        return choice

    # ---- Paths

    def _path(self, word: str) -> str | None:
        """What `word` names, from here, from the root, or by the name of a test file alone."""
        name = word.partition("::")[0]
        for base in (Path.cwd(), ROOT):
            path = (base / name).resolve()
            if path.exists() and path.is_relative_to(ROOT) and path != ROOT:
                return path.relative_to(ROOT).as_posix()
        same = [
            file
            for file in self._index.files
            if file.startswith("tests/") and name in (Path(file).name, Path(file).stem)
        ]
        return same[0] if len(same) == 1 and Path(same[0]).suffix in (".py", ".cpp") else None

    def _add_path(self, choice: Choice, path: str, node: str) -> None:
        if is_pytest_file(path):
            self._add_python(choice, [f"{path}::{node}" if node else path])
        elif (ROOT / path).is_dir():
            self._add_folder(choice, path)
        elif Path(path).suffix in _CPP and path.startswith(("tests/", "examples/")):
            self._add_test_source(choice, path)
        else:
            self._add_source(choice, path)
        if not choice:
            raise console.WrongUsage(f"No test belongs to {path}. ./dev test --changed knows more.")

    def _add_folder(self, choice: Choice, path: str) -> None:
        if not path.startswith("tests"):
            for file in self._index.files:
                if file.startswith(f"{path}/") and Path(file).suffix in _CPP:
                    self._add_source(choice, file)
            return
        self._tree.add_folder(choice, path)
        inside = [name for name in self._index.files if name.startswith(f"{path}/")]
        pytests = [name for name in inside if is_pytest_file(name)]
        if not pytests:
            return
        found = {suite.tests for file in pytests for suite in suites.of(file)}
        for folder in sorted(found):  # `tests` is several suites'
            self._add_python(choice, [max(path, folder, key=len)])

    def _add_test_source(self, choice: Choice, path: str) -> None:
        tests = [test for test in self._index.cpp if test.file == path]
        if tests:
            self._tree.add_tests(choice, tests)
        else:
            self._tree.add_users(choice, [Path(path)])

    def _add_source(self, choice: Choice, path: str) -> None:
        """The tests that mirror a source, or else those of its area."""
        area = areas.of(path)
        if area is None:
            return
        mirrors = areas.mirrors(path, self._index.files)
        for mirror in mirrors:
            if mirror.endswith(".cpp"):
                self._add_test_source(choice, mirror)
            else:
                self._add_python(choice, [mirror])
        if mirrors:
            return
        if area.near:
            self._tree.add_matching(choice, area.near)
        self._add_python(choice, area.first or (() if area.near else area.python))

    def _add_python(self, choice: Choice, tests: Sequence[str]) -> None:
        for test in tests:
            running = suites.of(test.partition("::")[0])
            if running and running[0] in suites.PYTHON_SUITES:
                running = self._on
            else:
                running = running[: None if len(self._on) > 1 else 1]
            for suite in running:
                self._tree.add_python(choice, suite, [test])

    # ---- Names

    def _add_name(self, choice: Choice, word: str) -> bool:
        named = [entry for entry in self._tree.entries if entry.name == word and entry.built]
        if named:
            self._tree.add(choice, named)
            return True
        pattern = word if "." in word else f"{word}.*"
        cpp = [test for test in self._index.cpp if fnmatchcase(test.full, pattern)]
        self._tree.add_tests(choice, cpp)
        python = [test for test in self._index.python if fnmatchcase(test.name, word)]
        self._add_python(choice, [test.node for test in python])
        if cpp or python:
            return True
        return self._add_matching(choice, word)

    def _add_matching(self, choice: Choice, word: str) -> bool:
        try:
            self._tree.add_matching(choice, word)
        except re.error:
            return False
        # program.Suite.Name, where the program is not built yet.
        for entry in self._tree.entries:
            if not entry.built and word.startswith(f"{entry.name}."):
                self._tree.add(choice, [entry])
        return bool(choice.whole)

    def _known(self) -> set[str]:
        index = self._index
        known = {entry.name for entry in self._tree.entries}
        known |= {test.full for test in index.cpp} | {test.suite for test in index.cpp}
        known |= {test.name for test in index.python}
        known |= {name for name in index.files if name.startswith("tests/")}
        return known | {Path(name).name for name in index.files if name.startswith("tests/")}
