"""The tests that a short run takes, one by one: a part of ./dev test, and a test's name there."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .. import console, shell
from ..environment import Environment
from . import entries
from .limits import ONE_THREAD
from .suites import SUITES, Suite


class Listed(NamedTuple):
    part: str
    # An entry of ctest, with `:Suite.Test` behind it where that runs a whole GoogleTest program; or
    # a node id of pytest.
    name: str


def of_short_run(environment: Environment, folder: Path) -> list[Listed]:
    """`folder` is the build tree dev, which is built. Nothing is run, but all is imported."""
    found = list(_cpp(folder))
    for suite in SUITES:
        if not suite.missing(folder):
            with console.step(f"collect {suite.name}") as step:
                tests = list(_python(environment, folder, suite))
                step.note = f"{len(tests)} tests"
            found += tests
    return found


def text(tests: Iterable[Listed]) -> str:
    return "".join(f"{test.part}\t{test.name}\n" for test in tests)


def read(text: str) -> list[Listed]:
    """What `text` wrote; lines of something else are left out."""
    lines = (line.split("\t") for line in text.splitlines())
    return [Listed(*fields) for fields in lines if len(fields) == 2]


def selects(tests: Iterable[Listed], part: str | None, name: str) -> bool:
    """Whether one of `tests` is `name`, or `name`'s: an entry of ctest, a GoogleTest test of a
    program, a node id of pytest with or without parameters, a file or a folder."""
    return any(part in (None, test.part) and _is(test.name, name) for test in tests)


def _is(test: str, name: str) -> bool:
    if test == name:
        return True
    entry, _, inside = test.partition(":")
    if "::" not in test:
        # Suite.Test, and what becomes of it with parameters.
        return name in (entry, inside) or f"/{name}/" in f"/{inside}/" or entry.endswith(f".{name}")
    return test.startswith((f"{name}[", f"{name}::", f"{name.rstrip('/')}/"))


def _cpp(folder: Path) -> Iterator[Listed]:
    for entry in entries.read(folder):
        if not entry.is_whole_program:
            yield Listed("cpp", entry.name)
            continue
        inside = [f"{entry.name}:{test}" for test in _inside(entry.command[0])]
        yield from (Listed("cpp", name) for name in inside or [entry.name])


def _inside(program: str) -> list[str]:
    """The tests of a GoogleTest program; of another, none."""
    found, suite = [], ""
    for line in shell.output([program, "--gtest_list_tests"]).splitlines():
        name = line.partition("#")[0].strip()
        if line.startswith("  ") and suite:
            found.append(f"{suite}{name}")
        else:
            suite = name if name.endswith(".") else ""
    return found


def _python(environment: Environment, folder: Path, suite: Suite) -> Iterator[Listed]:
    command = [environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--collect-only", *suite.options, suite.tests]
    variables = {**ONE_THREAD, **suite.variables(folder)}
    done = shell.run(f"collect-{suite.name}", command, env=variables)
    for line in done.stdout.splitlines():
        if line.startswith(f"{suite.tests}/") and "::" in line:
            yield Listed(suite.name, line.strip())
