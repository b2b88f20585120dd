"""Runs the C++ tests of a build tree."""

import re
from collections.abc import Mapping
from pathlib import Path

from .. import console, shell
from .limits import CPP_WORKERS, ONE_THREAD

_SHOWN = 300  # lines of a failure
_PASSED = re.compile(r"^(?:\d+: )?\[  PASSED  \] (\d+) test", re.MULTILINE)


def run(
    folder: Path,
    name: str,
    *selected: str,
    options: Mapping[str, str] | None = None,
    only: str = "",
    stop: bool = False,
) -> str:
    """Runs the tests that ctest's options `selected` choose, or all but the long ones; `name` is
    the step's and the log's. `only` is what GoogleTest runs of each program, with `stop` each ends
    at its first failure."""
    command = ["ctest", "--test-dir", folder, "-V", "-j", str(CPP_WORKERS), *selected]
    variables = {**ONE_THREAD, **(options or {})}
    if stop:
        command.append("--stop-on-failure")
        variables["GTEST_FAIL_FAST"] = "1"
    if only:
        variables["GTEST_FILTER"] = only
    log = f"ctest-{re.sub('[ ,/]+', '-', name)}"
    with console.step(f"C++ tests, {name}") as step:
        done = shell.run(log, command, env=variables, check=False)
        total = re.search(r"(\d+) tests failed out of (\d+)", done.stdout)
        if done.returncode or not total:
            raise shell.failure(log, done, _failures(done.stdout), failed_tests(done.stdout))
        skipped = done.stdout.count("***Skipped")
        passed = sum(map(int, _PASSED.findall(done.stdout))) if only else int(total[2]) - skipped
        if not passed:
            raise console.Failure(f"No program has these tests. See build/log/{log}.log")
        step.note = f"{passed} passed"
        if skipped and not only:  # a runtime without a group has nothing to test there
            step.note += f", {skipped} unsupported"
    return step.note


def has(tree: Path, pattern: str) -> bool:
    """Whether an entry has such a name; before it is built, of a program which tests it has is not
    known."""
    names = re.findall(
        r"^ *Test +#\d+: (\S+)", shell.output(["ctest", "--test-dir", tree, "-N"]), re.M
    )
    try:
        return any(
            re.search(pattern, name) or pattern.startswith(f"{name.removesuffix('_NOT_BUILT')}.")
            for name in names
        )
    except re.error:
        return False


def failed_tests(output: str) -> list[str]:
    """The lines of ctest's summary: each names a test, and how it ended."""
    # The last one, since a test may print what a ctest of its own says; labels may stand behind.
    _, said, summary = output.rpartition("The following tests FAILED:")
    if not said:
        return []
    return re.findall(r"^\s*\d+ - (.*? \([^)]*\))", summary, re.MULTILINE)


def _failures(output: str) -> str:
    """What the failed tests printed, whose number stands before each line, and ctest's summary."""
    failed = re.findall(r"^\s*\d+/\d+ Test +#(\d+): .*\*\*\*(?!Skipped)", output, re.MULTILINE)
    start = tuple(f"{number}: " for number in failed)
    lines = [line for line in output.splitlines(keepends=True) if start and line.startswith(start)]
    _, said, summary = output.rpartition("The following tests FAILED:")
    return "".join(lines[-_SHOWN:]) + said + summary
