"""Proves of each mutant that its test finds it, and of the tests that they can say so."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from .copy import Copy
from .mutant import Mutant, WrongList
from .results import Result, Results
from .test_command import FAILED, NOT_BUILT, PASSED, TIMED_OUT, TestCommand

LIMIT = 180.0  # seconds for a mutant, with what has to be built for it

FOUND = "found"
SURVIVED = "survived"
# Neither of the two: such a mutant proves nothing.
DOES_NOT_BUILD = "does not build"
TOO_SLOW = "too slow"
NOT_RUN = "not run"

_VERDICTS = {PASSED: SURVIVED, FAILED: FOUND, NOT_BUILT: DOES_NOT_BUILD, TIMED_OUT: TOO_SLOW}
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
            if not self._results.passes(_test(mutant)):
                runs[mutant.on].add(mutant.found_by)
        for on, tests in sorted(runs.items()):
            outcome = self._command.run(sorted(tests), on, None)
            if outcome.code != PASSED:
                raise WrongList(f"tests fail without any mutant:\n{_end(outcome.output)}")
            self._results.add_passing(f"{test} {on}" for test in tests)

    def of(self, mutant: Mutant) -> Result:
        known = self._results.of(mutant)
        if known is not None:
            return known
        with self._copy.carrying(mutant):
            outcome = self._command.run_one(mutant, LIMIT)
        verdict = _VERDICTS.get(outcome.code, NOT_RUN)
        result = Result(mutant.name, verdict, round(outcome.seconds, 1))
        if verdict not in (FOUND, SURVIVED):
            print(_end(outcome.output))
        if verdict in (FOUND, SURVIVED):
            self._results.add(mutant, result)
        return result


def refuse_what_is_not_selected(
    mutants: Iterable[Mutant], is_selected: Callable[[Mutant], bool]
) -> None:
    """Raises WrongList where the run that CI makes does not have a mutant's test."""
    missing = [_test(mutant) for mutant in mutants if not is_selected(mutant)]
    if missing:
        raise WrongList("./dev test does not run " + ", ".join(missing))


def is_proof(results: Sequence[Result]) -> bool:
    return all(result.verdict == FOUND for result in results)


def _test(mutant: Mutant) -> str:
    return f"{mutant.found_by} {mutant.on}"


def _end(output: str) -> str:
    return "\n".join(output.splitlines()[-_TAIL:])
