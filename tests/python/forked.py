"""The other end of fork_server.py: programs that start where others' imports have ended."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

_PROGRAM = Path(__file__).with_name("fork_server.py")


class ForkServer:
    """A process that has executed `imports`, and forks for each program that it is to run.

    Not thread-safe: one program at a time.
    """

    def __init__(self, imports: str, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, _PROGRAM, imports],
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # for close()
        )

    def run(
        self, source: str, environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess:
        """Raises TimeoutExpired for a program that does not end, and is of no use after that."""
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            request = {"source": source, "environment": dict(environment)}
            print(
                json.dumps(request | {"stdout": out.name, "stderr": err.name}),
                file=self._process.stdin,
                flush=True,
            )
            if not select.select([self._process.stdout], [], [], timeout)[0]:
                self.close()
                raise subprocess.TimeoutExpired(source, timeout)
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError(f"the fork server ended: exit code {self._process.wait()}")
            texts = (file.read().decode() for file in (out, err))
            return subprocess.CompletedProcess(source, int(answer), *texts)

    def close(self) -> None:
        """Ends it, and a program that it runs."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
