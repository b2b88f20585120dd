"""./dev test PATH_OR_NAME...: what a name means, by convention, and just that built and run.

tests/core                     the tests of a folder
tests/core/event_test.cpp      those of a file; with ::test behind a Python file, that one
core/streams/event.cpp         a source: event_test.cpp and test_event.py, where there are any
EventTest, EventTest.Rec*      GoogleTest's, as the sources below tests/ name them
test_records                   Python's, by the name of the function or its beginning
host_suite.summary             the entries of ctest that ctest -R finds
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from .. import build, console
from ..environment import Environment
from ..paths import ROOT
from ..report import Report
from . import ctest, suites
from .limits import WORKERS
from .pytest_run import run_pytest
from .suites import Suite

_CPP_TEST = re.compile(r"^TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.MULTILINE)
_ADDED = (("", ""), ("*/", "/*"))


@dataclass
class Choice:
    """Folders and files are relative to the root."""

    # Folders with C++ tests, and which of them, as Suite.Name; none: all that the folder has.
    folders: dict[str, set[str]] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)  # as ctest -R takes them
    # pytest's files, folders and node ids, by their suite and a name for -k.
    python: dict[tuple[Suite, str], list[str]] = field(default_factory=dict)

    @property
    def targets(self) -> set[str]:
        """What has to be built. An entry of ctest may need anything."""
        found = {"all"} if self.entries else {f"{folder}/all" for folder in self.folders}
        return found.union(*(suite.targets for suite, _ in self.python))


class Names:
    """`on` are the suites that tests of tests/python run on, `tree` a build tree that is
    configured."""

    def __init__(self, on: Sequence[Suite], tree: Path) -> None:
        self._on = on
        self._tree = tree

    def choose(self, words: Iterable[str]) -> Choice:
        """Raises WrongUsage for a word that means nothing."""
        choice = Choice()
        for word in words:
            name, _, test = word.partition("::")
            path = Path(name).resolve()
            if path.exists() and path.is_relative_to(ROOT):
                for file in mirrors(path):
                    self._add_path(choice, file, test)
            elif not self._add_name(choice, word):
                raise console.WrongUsage(f"There is no test, file or folder {word}.")
        return choice

    def _add_path(self, choice: Choice, path: Path, test: str) -> None:
        """A test's file or a folder; a file that has no tests itself stands for its folder."""
        if path.match("test_*.py"):
            self._add_python(choice, f"{_name(path)}::{test}" if test else _name(path))
            return
        tests = [] if path.is_dir() else cpp_tests(path)
        folder = path if path.is_dir() else path.parent
        pytests = not tests and any(folder.rglob("test_*.py"))
        if pytests:
            self._add_python(choice, _name(folder))
        if not tests and not self._has_entries(folder):
            tests = [test for file in folder.rglob("*_test.cpp") for test in cpp_tests(file)]
            if not tests and not pytests:
                raise console.WrongUsage(f"There is no test in {_name(folder)}.")
        if tests or self._has_entries(folder):
            self._add_cpp(choice, folder, tests)

    def _add_name(self, choice: Choice, word: str) -> bool:
        pattern = word if "." in word else f"{word}.*"
        found = False
        for file in (ROOT / "tests").rglob("*.cpp"):
            if tests := [test for test in cpp_tests(file) if fnmatchcase(test, pattern)]:
                self._add_cpp(choice, file.parent, tests)
                found = True
        for file in (ROOT / "tests").rglob("test_*.py"):
            if re.match(r"test_\w+$", word) and f"def {word}" in file.read_text("utf-8"):
                self._add_python(choice, _name(file), word)
                found = True
        if not found and ctest.has(self._tree, word):
            choice.entries.append(word)
            found = True
        return found

    def _add_python(self, choice: Choice, test: str, name: str = "") -> None:
        """On all of `on`, or on the first suite that has this folder."""
        running = suites.of(test.partition("::")[0])
        if not running:
            raise console.WrongUsage(f"./dev test runs no tests of {test}.")
        for suite in self._on if running[0] in suites.PYTHON_SUITES else running[:1]:
            choice.python.setdefault((suite, name), []).append(test)

    def _add_cpp(self, choice: Choice, folder: Path, tests: Iterable[str]) -> None:
        """`tests`, or all, of the folder in which they are compiled."""
        while not self._has_entries(folder) and folder != ROOT:
            folder = folder.parent
        chosen = set(tests)
        known = choice.folders.get(_name(folder), chosen)
        choice.folders[_name(folder)] = known | chosen if known and chosen else set()

    def _has_entries(self, folder: Path) -> bool:
        return (self._tree / _name(folder) / "CTestTestfile.cmake").exists()


def mirrors(path: Path) -> list[Path]:
    """The tests of a source, or of a folder of sources: those of its name, in a folder that is
    called as one of its own. Of a file or folder of tests, itself."""
    folders = path.relative_to(ROOT).parts
    if folders[:1] == ("tests",):
        return [path]
    names = [path.name] if path.is_dir() else [f"{path.stem}_test.cpp", f"test_{path.stem}.py"]
    found = [
        file
        for file in sorted((ROOT / "tests").rglob("*"))
        if file.name in names and set(folders).intersection(file.relative_to(ROOT).parts)
    ]
    if not found:
        raise console.WrongUsage(f"No test mirrors {_name(path)}: tests/ has no {names[0]} for it.")
    return found


def cpp_tests(file: Path) -> list[str]:
    return [".".join(found) for found in _CPP_TEST.findall(file.read_text("utf-8"))]


def run(environment: Environment, words: Sequence[str], on: Sequence[Suite], stop: bool) -> int:
    """With `stop` each program ends at its first failure."""
    tree = build.configured(environment, "dev")
    choice = Names(on, tree).choose(words)
    build.make(environment, "dev", sorted(choice.targets))
    report = Report()
    for folder, tests in choice.folders.items():
        report.part(folder, lambda folder=folder, tests=tests: _run_cpp(tree, folder, tests, stop))
    for entry in choice.entries:
        report.part(entry, lambda entry=entry: ctest.run(tree, "some", "-R", entry, stop=stop))
    for (suite, name), tests in choice.python.items():
        options = (*(("-k", name) if name else ()), *(("-x",) if stop else ()))
        report.part(
            suite.name,
            lambda suite=suite, tests=tests, options=options: _run_python(
                environment, tree, suite, tests, options
            ),
        )
    return report.finish()


def _run_cpp(tree: Path, folder: str, tests: Iterable[str], stop: bool) -> str:
    """An entry is a whole program, which GTEST_FILTER tells what to run, or one of its tests."""
    if not tests:
        return ctest.run(tree / folder, folder, stop=stop)
    # GoogleTest adds to the names of tests with parameters.
    only = [f"{before}{test}{after}" for test in tests for before, after in _ADDED]
    entries = [rf"\.{re.escape(test)}$" for test in tests]
    chosen = "|".join(["_test$", r"_test\.", *entries])
    return ctest.run(tree / folder, folder, "-R", chosen, stop=stop, only=":".join(only))


def _run_python(
    environment: Environment, tree: Path, suite: Suite, tests: list[str], options: Sequence[str]
) -> str:
    suite.require(tree)
    # A second process starts as slowly as the first: not for a few tests.
    many = len(tests) > 1 or (ROOT / tests[0]).is_dir()
    variables = suite.variables(tree)
    workers = WORKERS if many else 1
    return run_pytest(
        environment, f"{suite.name}, some", tests, variables, *options, workers=workers
    )


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
