"""This process's end of the child with PyTorch's generated methods."""

import os
import pickle
import select
import subprocess
import sys
import tempfile
from pathlib import Path

from oracle.description import Call

PATIENCE = 120  # seconds for one answer


class GeneratedMethods:
    """Answers calls until it is closed. One call at a time."""

    def __init__(self, backend: Path) -> None:
        here = os.fspath(Path(__file__).parents[1])
        path = os.pathsep.join([os.fspath(backend), here])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - until close
        self._process = subprocess.Popen(
            [sys.executable, "-m", "oracle.child"],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self.device_count = self._answer()

    def execute(self, call: Call) -> dict:
        pickle.dump(call, self._process.stdin)
        self._process.stdin.flush()
        worked, seen = self._answer()
        if not worked:
            raise AssertionError(f"the other process could not make {call}:\n{seen}")
        return seen

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()
        self._errors.close()

    def _answer(self):
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        try:
            if ready:
                return pickle.load(self._process.stdout)
            self._process.kill()
        except EOFError:
            pass
        code = self._process.wait(PATIENCE)
        self._errors.seek(0)
        raise AssertionError(
            f"the other process ended with code {code}:\n{self._errors.read().decode()}"
        )
