"""Runs a part's programs: what they print is in the part's log at once, and a limit ends them."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import console
from ..paths import ROOT

_TAIL = 60
# Of processes, which can be ended as one. Not a session where that can be helped: who ends ours at
# the end of a lease means these too.
_GROUP = {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}


@dataclass(frozen=True)
class Finished:
    name: str
    code: int
    lines: list[str]
    log: Path
    limit: float | None  # that ended it, in seconds

    @property
    def passed(self) -> bool:
        return self.code == 0 and self.limit is None

    def last(self, words: str) -> str:
        """The last line with these words in it, or nothing."""
        return next((line.strip() for line in reversed(self.lines) if words in line), "")

    def failure(self) -> str:
        """The end of what it printed, and how it ended."""
        how = f"with exit code {self.code}"
        if self.limit is not None:
            how = f"for it was not done after {self.limit:g} s"
        end = "" if console.verbose else "".join(self.lines[-_TAIL:])
        return f"{end}{self.name} failed {how}. All of its output: {self.log}"

    def check(self) -> "Finished":
        if not self.passed:
            raise console.Failure(self.failure())
        return self


def tail(log: Path) -> list[str]:
    if not log.exists():
        return []
    with log.open(encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\n") for line in deque(file, _TAIL)]


def run(
    log: Path,
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    deadline: float | None = None,
    limit: float | None = None,
    on_line: Callable[[str], None] = lambda line: None,
) -> Finished:
    """Appends to `log` what `command` prints, and ends it with all its children at `deadline`.

    `deadline` is a time of time.monotonic, and `limit` the seconds that led to it.
    """
    words = [os.fspath(word) for word in command]
    lines: list[str] = []
    overdue = threading.Event()
    with log.open("a", encoding="utf-8", buffering=1) as file:
        print("$", *words, file=file, flush=True)
        try:
            process = subprocess.Popen(
                words,
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                **_GROUP,
            )
        except FileNotFoundError:
            raise console.Failure(f"{words[0]} is missing.") from None

        def end() -> None:
            overdue.set()
            _end(process)

        timer = threading.Timer(max(0.0, (deadline or 0) - time.monotonic()), end)
        if deadline is not None:
            timer.start()
        try:
            for line in process.stdout:
                lines.append(line)
                file.write(line)
                on_line(line)
                if console.verbose:
                    sys.stdout.write(line)
            code = process.wait()
        except BaseException:
            _end(process)
            process.wait()
            raise
        finally:
            timer.cancel()
    spent = limit if overdue.is_set() else None
    return Finished(Path(words[0]).name, code, lines, log, spent)


def _end(process: subprocess.Popen) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
