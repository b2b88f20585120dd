"""Runs the C++ tests of a build tree."""

import re
from collections.abc import Mapping
from pathlib import Path

from .. import console, shell
from .limits import CPP_WORKERS, ONE_THREAD


def run(
    folder: Path,
    name: str,
    *selected: str,
    options: Mapping[str, str] | None = None,
) -> str:
    """Runs the tests that ctest's options `selected` choose, or all but the long ones; `name` is
    the step's and the log's."""
    command = ["ctest", "--test-dir", folder, "--output-on-failure"]
    command += ["-j", str(CPP_WORKERS), *selected]
    log = f"ctest-{re.sub('[ ,]+', '-', name)}"
    with console.step(f"C++ tests, {name}") as step:
        done = shell.run(log, command, env={**ONE_THREAD, **(options or {})}, check=False)
        total = re.search(r"(\d+) tests failed out of (\d+)", done.stdout)
        if done.returncode or not total:
            raise shell.failure(
                log, done, _output_of_failed(done.stdout), failed_tests(done.stdout)
            )
        skipped = done.stdout.count("***Skipped")
        step.note = f"{int(total.group(2)) - skipped} passed"
        if skipped:  # a runtime without a group has nothing to test there
            step.note += f", {skipped} unsupported"
    return step.note


def failed_tests(output: str) -> list[str]:
    """The lines of ctest's summary: each names a test, and how it ended."""
    # The last one, since a test may print what a ctest of its own says; labels may stand behind.
    _, said, summary = output.rpartition("The following tests FAILED:")
    if not said:
        return []
    return re.findall(r"^\s*\d+ - (.*? \([^)]*\))", summary, re.MULTILINE)


def _output_of_failed(output: str) -> str:
    """What the failed tests printed, out of all that ctest did."""
    failed = re.compile(r"\*\*\*(Failed|Timeout|Exception|Not Run)")
    next_test = re.compile(r"^\s*(\d+/\d+ Test|Start\s+\d+:|\d+% tests passed)")
    kept, inside = [], False
    for line in output.splitlines(keepends=True):
        inside = bool(failed.search(line)) or (inside and not next_test.match(line))
        if inside:
            kept.append(line)
    return "".join(kept)
