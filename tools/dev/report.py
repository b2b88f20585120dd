"""A run of several parts that goes on whichever of them fail, and says how each went."""

from collections.abc import Callable

from . import console


class Report:
    def __init__(self) -> None:
        self._outcomes: list[tuple[str, str]] = []
        self._failures: list[console.Failure] = []

    def part(self, name: str, run: Callable[[], str]) -> None:
        """Runs a part, which returns its outcome in a few words or raises Failure."""
        try:
            self._outcomes.append((name, run()))
        except console.Failure as failure:
            self._outcomes.append((name, "FAILED"))
            self._failures.append(failure)

    def finish(self) -> int:
        """Prints what failed and then the table; returns the exit code."""
        for failure in self._failures:
            console.title(f"\n{failure}")
        console.title("")
        for name, outcome in self._outcomes:
            console.title(f"  {name:<26} {outcome}")
        console.title("\nFAILED" if self._failures else "\nall passed")
        return 1 if self._failures else 0
