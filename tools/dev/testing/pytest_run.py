"""Runs pytest over tests of the tree, on a backend that was built."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from .. import console, shell
from ..environment import Environment
from ..paths import LOG
from .limits import ONE_THREAD, WORKERS

_NO_TESTS = 5  # pytest's exit code where nothing was selected
_SHOWN = 300  # lines
_LINE = 200  # characters of what is said of a failed test


def run_pytest(
    environment: Environment,
    name: str,
    tests: str | Sequence[str],
    variables: Mapping[str, str],
    *options: str,
    workers: int = WORKERS,
) -> str:
    """`name` is the step's, and that of the log and of the results in JUnit's format.

    Raises NotRun where the options select none of the tests.
    """
    command = [environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    if workers > 1 and environment.has("xdist"):
        command += ["-n", str(workers), "--dist", "worksteal"]
    log = f"pytest-{re.sub('[ ,]+', '-', name)}"
    results = LOG / f"{log}.xml"
    results.unlink(missing_ok=True)
    command += [f"--junitxml={results}", *([tests] if isinstance(tests, str) else tests)]
    with console.step(f"pytest, {name}") as step:
        done = shell.run(log, command, env={**ONE_THREAD, **variables}, check=False)
        step.note = _summary(done.stdout)
        if done.returncode == _NO_TESTS:
            raise console.NotRun("none of these tests is for it")
        if done.returncode:
            raise shell.failure(log, done, _failures(done.stdout), _failed_tests(results))
    return step.note


def _summary(output: str) -> str:
    """How many passed, failed and were left out, as pytest says it at its end."""
    lines = output.strip().splitlines()
    return re.sub(r" in [\d.]+s.*", "", lines[-1]).strip("= ") if lines else ""


def _failures(output: str) -> str:
    """The end of the output, from the first failure on, and not more than somebody reads."""
    start = re.search(r"^=+ (FAILURES|ERRORS) =+$", output, re.MULTILINE)
    lines = output[start.start() if start else 0 :].splitlines(keepends=True)
    return "".join(lines[-_SHOWN:])


def _failed_tests(results: Path) -> list[str]:
    """A line for each, of what the run left in JUnit's format: the test, and the first line of
    what went wrong, which pytest's own summary cuts to the width of a terminal."""
    try:
        cases = ElementTree.parse(results).iter("testcase")
    except (OSError, ElementTree.ParseError):  # pytest itself was killed
        return []
    failed = []
    for case in cases:
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        for end in (*case.iter("failure"), *case.iter("error")):
            why = (end.get("message") or "").partition("\n")[0]
            failed.append(f"{name}: {why}"[:_LINE])
    return failed
