"""./dev test of the copy: builds what a test needs and runs it, apart from the user's own tree."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .mutant import Mutant

# ./dev test's exit codes.
PASSED, FAILED, NOT_BUILT = 0, 1, 3
TIMED_OUT = None

_QUIET = {
    # A file that changes twice in a second, and keeps its size, must not be read from a cache.
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass(frozen=True)
class Outcome:
    code: int | None  # ./dev test's, or TIMED_OUT
    seconds: float
    output: str


class TestCommand:
    """Runs the copy's own ./dev, with the Python that runs this and the torch that it has."""

    __test__ = False  # no test of pytest's, whatever it is called

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run_one(self, mutant: Mutant, limit: float) -> Outcome:
        """The test that finds the mutant, for at most `limit` seconds."""
        return self.run([mutant.found_by], mutant.on, limit)

    def run(self, tests: Sequence[str], on: str, limit: float | None) -> Outcome:
        run = ["--on", on] if on else []
        return self._call(["-x", *run, *tests], limit)

    def list_tests(self) -> Outcome:
        """A line for each test of the short run."""
        return self._call(["--list-tests"], None)

    def _call(self, arguments: Sequence[str], limit: float | None) -> Outcome:
        start = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, self._folder / "dev", "test", "--system-torch", *arguments],
            cwd=self._folder,
            env=os.environ | _QUIET,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # so that compilers and tests end with it
        )
        try:
            output, _ = process.communicate(timeout=limit)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, code = process.communicate()[0], TIMED_OUT
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return Outcome(code, time.monotonic() - start, output)
