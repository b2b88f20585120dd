"""A worker process as its supervisor sees it: events, a deadline, and how it died."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import IO

from . import interpreter
from .forked import Forked, ForkServer
from .plan import Plan

GRACE_SECONDS = 60.0  # for a worker to leave after its last subject, or to die once aborted
START_SECONDS = 300.0  # for all imports, on a slow and busy machine


@dataclasses.dataclass(frozen=True)
class Death:
    status: str  # "crashed" or "timed_out"
    error: str
    trace: str


def fork_server(*imports: str, **environment: str) -> ForkServer:
    """For workers of this process; makes the imports that they share."""
    return ForkServer(_environment() | environment, f"{__package__}.fork_server", imports)


def _environment() -> dict[str, str]:
    return os.environ | {
        "OMP_NUM_THREADS": "1",  # one thread a worker: the same sums in the same order
        "MKL_NUM_THREADS": "1",
    }


def _started(
    stdin: IO[bytes], events: int, printed: IO[bytes], environment: Mapping[str, str]
) -> subprocess.Popen:
    return subprocess.Popen(
        interpreter.command(f"{__package__}.worker", str(events)),
        stdin=stdin,
        stdout=printed,
        stderr=printed,
        pass_fds=[events],
        env=environment,
        start_new_session=True,  # an interrupt is the supervisor's business
    )


class Worker:
    """One worker process and the pipe that it reports on."""

    def __init__(self, plan: Plan, timeout: float, server: ForkServer):
        """Forked by `server`, or where it cannot, a process that makes all imports by itself."""
        self._timeout = timeout
        self._buffer = b""
        self._timed_out = False
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (__exit__ closes it)
        self._pipe, writer = os.pipe()
        try:
            with tempfile.TemporaryFile() as stdin:
                stdin.write(plan.to_json().encode())
                stdin.seek(0)
                files = stdin, writer, self._stderr
                forked = server.start(*files, START_SECONDS)
                self._process = forked or _started(*files, server.environment)
        finally:
            os.close(writer)
        self._seconds = START_SECONDS  # that it has, for what it is at
        self._deadline = time.monotonic() + self._seconds

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None or isinstance(self._process, Forked):
            self._end_group()
        self._process.wait()
        if isinstance(self._process, Forked):
            self._process.close()
        os.close(self._pipe)
        self._stderr.close()

    def start_clock(self, at_least: float = 0.0) -> None:
        self._seconds = max(self._timeout, at_least)
        self._deadline = time.monotonic() + self._seconds

    def next_event(self, stop: threading.Event) -> dict | None:
        """The next event; None if the worker is gone, overdue (it is then aborted), or to stop."""
        while b"\n" not in self._buffer:
            left = self._deadline - time.monotonic()
            if stop.is_set():
                self._end_group()
                return None
            if left <= 0:
                self._timed_out = True
                self._abort()
                return None
            ended = self._process.poll() is not None  # first: what it has written is read below
            if select.select([self._pipe], [], [], 0 if ended else min(left, 0.5))[0]:
                chunk = os.read(self._pipe, 1 << 16)
                if not chunk:
                    return None
                self._buffer += chunk
            elif ended:  # a child of it may hold the pipe open
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def leave(self) -> str:
        """Waits for a worker that is through; says what was wrong with its exit, if anything."""
        grace = min(GRACE_SECONDS, self._timeout)
        try:
            code = self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._abort()
            return f"did not exit within {grace:g} s of its last entry"
        return "" if code == 0 else f"at exit: {self.death().error}"

    def death(self) -> Death:
        code = self._process.wait(GRACE_SECONDS)
        trace = self.stderr_tail()
        if self._timed_out:
            return Death("timed_out", f"no end after {self._seconds:g} s", trace)
        how = _signal(-code) if code < 0 else f"exit status {code}"
        last_words = _last_words(trace)
        return Death("crashed", f"{how}: {last_words}" if last_words else how, trace)

    def stderr_tail(self, size: int = 8000) -> str:
        fd = self._stderr.fileno()  # pread: the worker writes at the offset of the same open file
        end = os.fstat(fd).st_size
        return os.pread(fd, size, max(0, end - size)).decode(errors="replace")

    def _abort(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGABRT)  # the fault handler then says where it hung
        try:
            self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._end_group()

    def _end_group(self) -> None:
        """The worker and what it has started; a worker leads a group of its own.

        Where it has ended, only if its id is still its own: a Forked one's is.
        """
        with contextlib.suppress(ProcessLookupError):  # it may not lead one yet
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have no name
        return f"signal {number}"


_WORDS = re.compile(
    r"terminate called|what\(\):|[Aa]ssert|AddressSanitizer|runtime error:|FATAL|Error:"
)


def _last_words(stderr: str) -> str:
    """The line that explains a death; the fault handler's own would repeat the signal."""
    lines = [line.strip() for line in stderr.splitlines() if _WORDS.search(line)]
    lines = [line for line in lines if not line.startswith("Fatal Python error")]
    return re.sub(r"0x[0-9a-f]+", "0x…", lines[-1])[:300] if lines else ""
