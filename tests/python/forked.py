"""The other end of fork_server.py: programs that start where `import torch` has ended."""

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
_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
# What programs of one server may differ in: variables of the backend and of the drivers' stand-ins,
# what fork_server.py does for a program as its `import torch` would have, and pytest's own. Any
# other may have been read as the server started, by Python, by torch or by a library of theirs.
_OF_A_PROGRAM = (
    *("ACME_", "FAKE_CUDA_", "OUTBACK_"),
    *("PYTHONPATH", _AUTOLOAD, "PYTEST_CURRENT_TEST"),
    "LOCAL_RANK",  # which PyTorch reads where a mesh is made
)


class ForkServers:
    """A server for each environment that programs start in. One program at a time: no threads."""

    def __init__(self) -> None:
        self._servers: dict[tuple[str, frozenset], _ForkServer] = {}

    def run(
        self,
        source: str,
        environment: Mapping[str, str],
        timeout: float,
        imports: str = "",
        ends_torch: bool = False,
    ) -> subprocess.CompletedProcess:
        """In that environment and no other. Raises TimeoutExpired for a program that does not end.

        `imports` are made once for all programs of a server, beside that of torch, before a program
        loads the backend. They must not import it: it reads variables that programs differ in.

        A program ends as after `python -c`, but for the destructors of libraries that its server
        has loaded, torch's above all. They run too if `ends_torch`.
        """
        shared = {
            name: environment[name] for name in environment if not name.startswith(_OF_A_PROGRAM)
        }
        key = imports, frozenset(shared.items())
        if key not in self._servers:
            self._servers[key] = _ForkServer(imports or "import torch", shared)
        try:
            return self._servers[key].run(source, environment, timeout, ends_torch)
        except subprocess.TimeoutExpired:
            del self._servers[key]
            raise

    def __len__(self) -> int:
        return len(self._servers)

    def close(self) -> None:
        for server in self._servers.values():
            server.close()


class _ForkServer:
    """A process that has executed `imports`, and forks for each program that it is to run."""

    def __init__(self, imports: str, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, _PROGRAM, imports],
            env={**environment, _AUTOLOAD: "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # for close()
        )

    def run(
        self, source: str, environment: Mapping[str, str], timeout: float, ends_torch: bool
    ) -> subprocess.CompletedProcess:
        """Raises TimeoutExpired for a program that does not end, and is of no use after that."""
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            request = {"source": source, "environment": dict(environment)}
            request |= {"ends_torch": ends_torch, "stdout": out.name, "stderr": err.name}
            print(
                json.dumps(request),
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
