"""A run of several parts that goes on whichever of them fail, and says how each went."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from . import console

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"
_TESTS = 10  # lines of a part's failed tests in the table


@dataclass(frozen=True)
class Outcome:
    part: str
    state: str  # PASSED, FAILED or NOT_RUN
    note: str
    seconds: float | None  # None where it took none: the result is of an earlier run
    failed: tuple[str, ...] = ()  # the tests that did, a line each

    def __str__(self) -> str:
        seconds = "" if self.seconds is None else f"{self.seconds:.1f} s"
        said = {PASSED: self.note, FAILED: "FAILED", NOT_RUN: f"not run: {self.note}"}
        row = f"  {self.part:<26} {seconds:>9}  {said[self.state]}".rstrip()
        shown = [f"\n    {test}" for test in self.failed[:_TESTS]]
        if more := len(self.failed) - len(shown):
            shown.append(f"\n    and {more} more")
        return row + "".join(shown)


class Report:
    def __init__(self) -> None:
        self._outcomes: list[Outcome] = []
        self._failures: list[console.Failure] = []
        self._start = time.monotonic()

    def part(self, name: str, run: Callable[[], str]) -> Outcome:
        """Runs a part, which returns its outcome in a few words or raises Failure or NotRun.

        Any thread may have one run.
        """
        start = time.monotonic()
        failed: tuple[str, ...] = ()
        try:
            state, note = PASSED, run()
        except console.NotRun as why:
            state, note = NOT_RUN, str(why)
        except console.Failure as failure:
            state, note, failed = FAILED, str(failure), tuple(failure.tests)
            self._failures.append(failure)
        except Exception:  # a defect of ./dev's own, for which the other parts need not wait
            state, note = FAILED, traceback.format_exc()
            self._failures.append(console.Failure(note))
        outcome = Outcome(name, state, note, time.monotonic() - start, failed)
        self.add(outcome)
        return outcome

    def add(self, outcome: Outcome) -> None:
        """A row of the table for what did not run here and now."""
        self._outcomes.append(outcome)

    def table(self) -> None:
        for outcome in self._outcomes:
            console.title(str(outcome))

    def finish(self) -> int:
        """Prints what failed and then the table; returns the exit code."""
        for failure in self._failures:
            console.title(f"\n{failure}")
        console.title("")
        self.table()
        console.title(f"  {'':<26} {time.monotonic() - self._start:>7.1f} s")
        console.title("\nFAILED" if self._failures else "\nall passed")
        return self._failures[0].exit_code if self._failures else 0
