"""Lets another process have its workers forked by the tests' server, whose imports take seconds.

`lending` is for the tests; the other process imports this module, or has it as a plugin of pytest,
and finds in its environment where to ask. Its workers have the environment of the tests.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from conformance import run, suite_settings
from conformance.running.forked import ForkServer

ADDRESS = "LENT_SERVER"  # in the environment


@contextlib.contextmanager
def lending(servers: run.Servers, folder: Path) -> Iterator[dict[str, str]]:
    """The variables of a process, and of those that it starts, which ask for workers of suites."""
    server = servers.of(suite_settings.SHARED)
    address = str(folder / "lent")
    with socket.socket(socket.AF_UNIX) as asked:
        asked.bind(address)
        asked.listen()
        thread = threading.Thread(target=_lend, args=(asked, server._requests))
        thread.start()
        try:
            yield {ADDRESS: address}
        finally:
            asked.shutdown(socket.SHUT_RDWR)  # ends what accepts
            thread.join()


def _lend(asked: socket.socket, requests: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            with asked.accept()[0] as one:
                socket.send_fds(one, [b"s"], [requests.fileno()])


class _Lent(ForkServer):
    """One that another process has started."""

    def __init__(self) -> None:
        self.environment = os.environ
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(os.environ[ADDRESS])
            _, files, _, _ = socket.recv_fds(one, 1, 1)
        self._requests = socket.socket(fileno=files[0])

    def __exit__(self, *_: object) -> None:
        self._requests.close()


class _LentServers(run.Servers):
    def of(self, shared: tuple[str, ...], **environment: str) -> ForkServer:
        assert (shared, environment) == (suite_settings.SHARED, {})
        return self._open.enter_context(_Lent())


if ADDRESS in os.environ:
    run.Servers = _LentServers
