"""Proves of each mutant that its test finds it, and of the tests that they can say so."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from .copy import Copy
from .evidence import failed_test
from .mutant import Mutant, WrongList
from .results import Result, Results
from .test_command import FAILED, NOT_BUILT, PASSED, TIMED_OUT, Outcome, TestCommand

LIMIT = 180.0  # seconds for a mutant, with what has to be built for it

FOUND = "found"
SURVIVED = "survived"
# Neither of the two: such a mutant proves nothing.
DOES_NOT_BUILD = "does not build"
TOO_SLOW = "too slow"
NO_TEST_RAN = "no test ran"

_TAIL = 40


class Proof:
    def __init__(self, copy: Copy, command: TestCommand, results: Results) -> None:
        self._copy = copy
        self._command = command
        self._results = results

    def check_tests(self, mutants: Iterable[Mutant]) -> None:
        """Raises WrongList where a test fails without any mutant: it would find everything."""
        runs: dict[str, set[str]] = defaultdict(set)
        for mutant in mutants:
            if not self._results.passes(mutant.test):
                runs[mutant.on].add(mutant.found_by)
        for on, tests in sorted(runs.items()):
            outcome = self._command.run(sorted(tests), on)
            if outcome.code != PASSED:
                raise WrongList(f"a test fails without any mutant:\n{_end(outcome.output)}")
            self._results.add_passing(f"{test} {on}".rstrip() for test in tests)

    def check_selection(
        self, mutants: Iterable[Mutant], not_selected: Callable[[list[Mutant]], list[str]]
    ) -> None:
        """Raises WrongList where the run of CI lacks a test. Those that it lacks are asked for."""
        unknown = [mutant for mutant in mutants if not self._results.is_selected(mutant.test)]
        if missing := not_selected(unknown):
            raise WrongList(f"./dev test does not run {', '.join(missing)}")
        self._results.add_selected(mutant.test for mutant in unknown)

    def of(self, mutant: Mutant) -> Result:
        known = self._results.of(mutant)
        if known is not None:
            return known
        with self._copy.carrying(mutant):
            outcome = self._command.run([mutant.found_by], mutant.on, LIMIT)
        result = Result(mutant.name, _verdict(outcome), round(outcome.seconds, 1))
        if result.verdict in (FOUND, SURVIVED):
            self._results.add(mutant, result)
        else:
            print(_end(outcome.output))
        return result


def is_proof(results: Sequence[Result]) -> bool:
    return all(result.verdict == FOUND for result in results)


def _verdict(outcome: Outcome) -> str:
    if outcome.code == FAILED:
        return FOUND if failed_test(outcome.output) else NO_TEST_RAN
    known = {PASSED: SURVIVED, NOT_BUILT: DOES_NOT_BUILD, TIMED_OUT: TOO_SLOW}
    return known.get(outcome.code, NO_TEST_RAN)


def _end(output: str) -> str:
    return "\n".join(output.splitlines()[-_TAIL:])
