"""Which tests the run of CI takes, of a tree in which they are built."""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from .mutant import Mutant

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
from dev import environment
from dev.paths import ROOT
from dev.testing import suites


def not_selected(folder: Path, mutants: Iterable[Mutant]) -> list[str]:
    """The tests of these mutants that a run of CI over the tree in `folder` would leave out.

    Those are Python tests: a C++ test that is found by its name is an entry of ctest, which runs
    all that there are.
    """
    of_suite: dict[suites.Suite, set[str]] = defaultdict(set)
    for mutant in mutants:
        if mutant.found_by.startswith("tests/"):
            of_suite[_suite(mutant)].add(mutant.found_by)
    missing = []
    for suite, tests in of_suite.items():
        taken = _collected(folder, suite, sorted(tests))
        missing += [f"{test} ({suite.name})" for test in sorted(tests - taken)]
    return missing


def _suite(mutant: Mutant) -> suites.Suite:
    return suites.on(mutant.on) if mutant.on else suites.of(mutant.found_by.partition("::")[0])[0]


def _collected(folder: Path, suite: suites.Suite, tests: list[str]) -> set[str]:
    """Those of `tests` that the suite has in a short run, without their parameters."""
    tree = folder / environment.active(()).build.relative_to(ROOT) / "dev"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only"]
    done = subprocess.run(
        [*command, *suite.options, *tests],
        cwd=folder,
        env=os.environ | dict(suite.variables(tree)),
        stdout=subprocess.PIPE,
        text=True,
    )
    return {line.partition("[")[0] for line in done.stdout.splitlines()}
