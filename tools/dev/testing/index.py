"""The tests by name, as the sources have them: what is not compiled is found too."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .. import shell
from ..paths import ROOT

_CPP_TEST = re.compile(
    r"^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*(?P<suite>\w+)\s*,\s*(?P<name>\w+)\s*\)", re.MULTILINE
)
_PYTHON = re.compile(
    r"^class (?P<class>Test\w*)|^(?P<indent> *)(?:async )?def (?P<name>test_\w+)", re.MULTILINE
)


@dataclass(frozen=True)
class CppTest:
    file: str
    suite: str
    name: str

    @property
    def full(self) -> str:
        return f"{self.suite}.{self.name}"

    @property
    def filters(self) -> tuple[str, ...]:
        """What GoogleTest calls it: of a plain test, and of one with types or parameters."""
        return (self.full, f"*/{self.full}/*", f"{self.suite}/*.{self.name}")


@dataclass(frozen=True)
class PythonTest:
    file: str
    group: str  # the class, or nothing
    name: str

    @property
    def node(self) -> str:
        return "::".join(filter(None, (self.file, self.group, self.name)))


def files() -> list[str]:
    """All that git would commit."""
    return shell.output(["git", "ls-files", "-co", "--exclude-standard"]).splitlines()


def cpp_tests(text: str, file: str) -> Iterator[CppTest]:
    for found in _CPP_TEST.finditer(text):
        yield CppTest(file, found["suite"], found["name"])


def python_tests(text: str, file: str) -> Iterator[PythonTest]:
    group = ""
    for found in _PYTHON.finditer(text):
        if found["class"]:
            group = found["class"]
        else:
            group = group if found["indent"] else ""
            yield PythonTest(file, group, found["name"])


class Index:
    def __init__(self) -> None:
        self.files = files()

    @cached_property
    def cpp(self) -> list[CppTest]:
        sources = [name for name in self._below_tests if name.endswith(".cpp")]
        return [test for name in sources for test in cpp_tests(_text(name), name)]

    @cached_property
    def python(self) -> list[PythonTest]:
        sources = [name for name in self._below_tests if is_pytest_file(name)]
        return [test for name in sources for test in python_tests(_text(name), name)]

    @cached_property
    def _below_tests(self) -> list[str]:
        return [name for name in self.files if name.startswith(("tests/", "examples/"))]


def is_pytest_file(name: str) -> bool:
    return Path(name).match("test_*.py") and name.startswith("tests/")


def _text(name: str) -> str:
    path = ROOT / name
    return path.read_text("utf-8") if path.is_file() else ""
