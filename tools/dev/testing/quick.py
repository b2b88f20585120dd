"""Builds what a choice of tests needs, and runs just them."""

import re
from collections.abc import Callable, Iterable, Iterator

from .. import build, console, shell
from ..environment import Environment
from ..paths import ROOT
from ..report import Report
from .choice import Choice, Tree
from .ctest import failed_tests
from .limits import ONE_THREAD, WORKERS
from .pytest_run import run_pytest
from .suites import Suite

_AT_ONCE = 60  # names in one regular expression of ctest
_NOISE = re.compile(r"Google Test filter = |\[  SKIPPED \]|: Skipped$")
_PASSED = re.compile(r"^(?:\d+: )?\[  PASSED  \] (\d+) test", re.MULTILINE)


def prepare(
    environment: Environment,
    choose: Callable[[Tree], Choice],
    announce: Callable[[Choice], None] = lambda choice: None,
) -> tuple[Tree, Choice]:
    """What `choose` chooses, built once it is announced. It is asked once more after that: only a
    program that is built says which tests it has."""
    tree = Tree.read(build.configured(environment, "dev"))
    choice = choose(tree)
    announce(choice)
    if choice.targets:
        build.make(environment, "dev", sorted(choice.targets))
        tree = Tree.read(tree.folder)
        choice = choose(tree)
    return tree, choice


def run(
    environment: Environment,
    tree: Tree,
    choice: Choice,
    report: Report,
    *,
    stop: bool = False,
    marked: bool = False,
) -> None:
    """With `stop` each program ends at its first failure; with `marked` a suite takes only those
    that a short run takes."""
    if choice.whole or choice.filtered:
        report.part("cpp", lambda: _ctest(tree, choice, stop))
    for suite, tests in choice.python.items():
        options = (*(suite.options if marked else ()), *(("-x",) if stop else ()))
        report.part(
            suite.name,
            lambda suite=suite, tests=tests, options=options: _pytest(
                environment, tree, suite, tests, options
            ),
        )


def _pytest(
    environment: Environment, tree: Tree, suite: Suite, tests: list[str], options: Iterable[str]
) -> str:
    if why := suite.missing(tree.folder):
        raise console.NotRun(why)
    # A second process starts as slowly as the first: not for a few tests.
    many = len(tests) > 1 or (ROOT / tests[0]).is_dir()
    return run_pytest(
        environment,
        f"{suite.name}, some",
        tests,
        suite.variables(tree.folder),
        *options,
        workers=WORKERS if many else 1,
    )


def _ctest(tree: Tree, choice: Choice, stop: bool) -> str:
    """The entries, those that are whole programs with some of their tests only."""
    count = 0
    with console.step("C++ tests") as step:
        for names in _chunks(sorted(choice.whole)):
            count += _run_ctest(tree, names, stop)
        # One filter for all of them: what a program has not got, it leaves out.
        filters = {each for filters in choice.filtered.values() for each in filters}
        for names in _chunks(sorted(choice.filtered)):
            count += _run_ctest(tree, names, stop, GTEST_FILTER=":".join(sorted(filters)))
        step.note = f"{count} passed"
    return step.note


def _chunks(names: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(names), _AT_ONCE):
        yield names[start : start + _AT_ONCE]


def _run_ctest(tree: Tree, names: list[str], stop: bool, **variables: str) -> int:
    """Returns how many tests passed; raises Failure where one did not, or where there are none."""
    exactly = f"^({'|'.join(map(re.escape, names))})$"
    command = ["ctest", "--test-dir", tree.folder, "-V", "-j", str(WORKERS), "-R", exactly]
    if stop:
        command.append("--stop-on-failure")
        variables["GTEST_FAIL_FAST"] = "1"
    done = shell.run("ctest-some", command, env={**ONE_THREAD, **variables}, check=False)
    total = re.search(r"(\d+) tests failed out of (\d+)", done.stdout)
    if done.returncode or not total:
        failed = failed_tests(done.stdout)
        raise shell.failure("ctest-some", done, _failures(done.stdout), failed)
    if "GTEST_FILTER" not in variables:
        return int(total[2])
    passed = sum(map(int, _PASSED.findall(done.stdout)))
    if not passed:
        raise console.Failure(f"None of the tests is in {', '.join(names)}. See build/log.")
    return passed


def _failures(output: str) -> str:
    """The output of the entries that failed: `-V` shows all, each line with its entry's number."""
    failed = re.findall(r"^\s*\d+/\d+ Test +#(\d+): .*\*\*\*", output, re.MULTILINE)
    start = tuple(f"{number}: " for number in failed)
    kept = [
        line
        for line in output.splitlines(keepends=True)
        if start and line.startswith(start) and not _NOISE.search(line)
    ]
    names = re.search(r"^The following tests FAILED:.*?(?=^Errors while|\Z)", output, re.M | re.S)
    return "".join(kept[-300:]) + (names[0] if names else "" if kept else output[-4000:])
