"""./dev test of the copy: builds what a test needs and runs it, apart from the user's own tree."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# ./dev test's exit codes.
PASSED, FAILED, NOT_BUILT = 0, 1, 3
TIMED_OUT = None

# A source that changes twice in a second, and keeps its size, must not be read from a cache.
_VARIABLES = {"PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class Outcome:
    code: int | None  # ./dev test's, or TIMED_OUT
    seconds: float
    output: str


class TestCommand:
    """Runs the copy's own ./dev, with the Python that runs this and the torch that it has."""

    __test__ = False  # it is none of pytest's, whatever it is called

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, tests: Sequence[str], on: str = "", limit: float | None = None) -> Outcome:
        """Builds what the tests need and runs them up to the first failure, in `limit` seconds."""
        command = [sys.executable, self._folder / "dev", "test", "--system-torch", "-x"]
        start = time.monotonic()
        process = subprocess.Popen(
            [*command, *(["--on", on] if on else []), *tests],
            cwd=self._folder,
            env=os.environ | _VARIABLES,
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
