"""One line of output for each step, with its time; the rest goes to a log."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager

verbose = False


class Failure(Exception):
    """Ends ./dev with this sentence instead of a traceback."""

    exit_code = 1

    def __init__(self, text: str, tests: Sequence[str] = ()) -> None:
        """`tests` are those that failed, a line each, where tests did."""
        super().__init__(text)
        self.tests = tests


class WrongUsage(Failure):
    """What was asked for is not there."""

    exit_code = 2


class NotBuilt(Failure):
    """The compiler or the linker failed, so that nothing was tested."""

    exit_code = 3


class NotRun(Exception):
    """Says why a part of a run was left out: this machine lacks what it needs. No failure."""


class Step:
    """The line of a running step."""

    def __init__(self, name: str) -> None:
        self.note = ""
        self._name = name
        self._start = time.monotonic()

    def progress(self, text: str) -> None:
        """Shows on a terminal how far the step has come; a log of CI gets only the end."""
        if sys.stdout.isatty() and not verbose:
            print(
                f"\r  {self._name:<26} {self._seconds()}  {text:<20}",
                end="",
                flush=True,
            )

    def finish(self, text: str) -> None:
        start = "\r" if sys.stdout.isatty() and not verbose else ""
        print(
            f"{start}  {self._name:<26} {self._seconds()}  {text:<20}".rstrip(" "),
            flush=True,
        )

    def _seconds(self) -> str:
        return f"{time.monotonic() - self._start:6.1f} s"


def title(text: str) -> None:
    print(text, flush=True)


@contextmanager
def step(name: str):
    """Prints `name`, how long the block took, and what the block noted."""
    this = Step(name)
    this.progress("")
    try:
        yield this
    except NotRun:
        this.finish("not run")
        raise
    except BaseException:
        this.finish("failed")
        raise
    this.finish(this.note)


def exit_code_of(command: Callable[[], int]) -> int:
    """Runs a subcommand; what goes wrong in ordinary use ends as a sentence and an exit code."""
    try:
        return command()
    except Failure as failure:
        print(f"\n{failure}", file=sys.stderr)
        return failure.exit_code
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
