"""Runs other programs: their output goes to build/log, and a failure shows the end of it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from . import console
from .paths import LOG, ROOT

_TAIL = 60
# Of processes, which can be ended as one. Not a session where that can be helped: who ends ours at
# the end of a lease means these too.
_GROUP = {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}


def run(
    log: str,
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    append: bool = False,
    check: bool = True,
    on_line: Callable[[str], None] = lambda line: None,
    deadline: float | None = None,
) -> subprocess.CompletedProcess:
    """Runs `command` with `env` over our variables; all that it prints becomes `stdout`.

    With a `deadline`, a time of time.monotonic, it is ended then with all its children.
    """
    path = LOG / f"{log}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    words = [os.fspath(word) for word in command]
    lines = []
    with path.open("a" if append else "w", encoding="utf-8", buffering=1) as file:
        print("$", *words, file=file, flush=True)
        try:
            process = subprocess.Popen(
                words,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                **({} if deadline is None else _GROUP),
            )
        except FileNotFoundError:
            raise console.Failure(f"{words[0]} is missing.") from None
        timer = None
        if deadline is not None and deadline < float("inf"):
            timer = threading.Timer(max(0.0, deadline - time.monotonic()), _end_group, [process])
            timer.start()
        try:
            for line in process.stdout:
                lines.append(line)
                file.write(line)
                on_line(line)
                if console.verbose:
                    sys.stdout.write(line)
            process.wait()
        except BaseException:  # Ctrl-C, above all: nothing goes on behind our back
            process.terminate() if deadline is None else _end_group(process)
            process.wait()
            raise
        finally:
            if timer:
                timer.cancel()
    result = subprocess.CompletedProcess(words, process.returncode, "".join(lines))
    if check and result.returncode:
        raise failure(log, result)
    return result


def _end_group(process: subprocess.Popen) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def failure(
    log: str,
    result: subprocess.CompletedProcess,
    essence: str | None = None,
    tests: Sequence[str] = (),
) -> console.Failure:
    """What to raise where `result` is bad news: its essence, or else its end, and the log; `tests`
    are those that failed."""
    path = LOG / f"{log}.log"
    path = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    shown = essence or "".join(deque(result.stdout.splitlines(keepends=True), _TAIL))
    return console.Failure(
        f"{'' if console.verbose else shown}{Path(result.args[0]).name} failed with exit code "
        f"{result.returncode}. All of its output: {path}",
        tests,
    )


def stream(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
) -> int:
    """Runs a program whose output is what the user came for, and returns its exit code."""
    sys.stdout.flush()
    return subprocess.call(
        [os.fspath(word) for word in command],
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )


def output(command: Sequence[str | Path]) -> str:
    """What a program answers to a quick question; empty where there is none or it fails."""
    try:
        done = subprocess.run(
            [os.fspath(word) for word in command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
