"""The supervisor's end of ``fork_server``: processes that are forked where they can be."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

from . import interpreter
from .fork_server import AUTOLOAD

END_SECONDS = 10.0  # for the server to end


class ForkServer:
    """Starts workers, in one environment. Any thread may ask it."""

    def __init__(
        self, environment: Mapping[str, str], module: str, imports: Sequence[str] = ()
    ) -> None:
        """`module` is fork_server, as it is imported in that environment; `imports` are what the
        workers share."""
        self.environment = environment
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        autoload = [environment[AUTOLOAD]] if AUTOLOAD in environment else []
        with theirs:
            self._process = subprocess.Popen(
                [
                    *interpreter.command(module, str(theirs.fileno())),
                    *(",".join(imports), *autoload),
                ],
                env={**environment, AUTOLOAD: "0"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # a worker of its own says the same where it is read
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # an interrupt is the supervisor's business
            )

    def start(
        self, plan: IO[bytes], events: int, printed: IO[bytes], timeout: float
    ) -> Forked | None:
        """A worker that reads `plan`; None where none can be forked.

        Waits until the server has made its imports. Raises TimeoutError where that takes longer
        than `timeout` seconds: the worker may still be forked, and a second one must not run.
        """
        ours, waiting = socket.socketpair()
        files = [plan.fileno(), events, printed.fileno(), waiting.fileno()]
        try:
            with waiting:
                socket.send_fds(self._requests, [b"w"], files)
            return Forked(ours, timeout)
        except TimeoutError:
            ours.close()
            raise TimeoutError(f"the workers' modules were not imported in {timeout:g} s") from None
        except OSError:  # the server has ended
            ours.close()
            return None

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._requests.close()  # which the server takes for its end
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Forked:
    """A process that another one has forked, with what a supervisor needs of a Popen."""

    def __init__(self, told: socket.socket, timeout: float) -> None:
        """Raises OSError where nothing is told, and takes `told` otherwise."""
        told.settimeout(timeout)
        self._told = told
        self._code: int | None = None
        self.pid = self._line()

    def poll(self) -> int | None:
        if self._code is None and select.select([self._told], [], [], 0)[0]:
            self._code = self._line()
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self._code = self._line()
        return self._code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """After this the process id may be another process's."""
        self._told.close()

    def _line(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            byte = self._told.recv(1)
            if not byte:
                raise ConnectionError("who waits for the worker has ended")
            line += byte
        return int(line)
