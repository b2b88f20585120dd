"""What a part of ./dev gpu works with: its log, its programs, and what is left of its time."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import build, console, shell
from ..environment import Environment
from ..paths import ROOT
from .packing import PYTHON

Done = subprocess.CompletedProcess


@dataclass(frozen=True)
class Request:
    only: Sequence[str] | None  # parts; None is all of them
    out: Path
    limit: float | None  # seconds for each part
    save: bool
    pytest: Sequence[str]  # options for it


class Work:
    def __init__(
        self, environment: Environment, request: Request, device: str, memory: int | None
    ) -> None:
        self.environment = environment
        self.request = request
        self.folder = environment.build / "gpu"
        self.device = device
        self.memory = memory  # bytes of the smallest device, where a driver says so
        self.begin("")

    def begin(self, part: str) -> None:
        self.log = (self.request.out / f"{part}.log").resolve()
        self._deadline = time.monotonic() + (self.request.limit or float("inf"))

    @property
    def is_late(self) -> bool:
        return time.monotonic() >= self._deadline

    def run(
        self,
        *command: str | Path,
        check: bool = True,
        on_line: Callable[[str], None] = lambda _: None,
    ) -> Done:
        """Runs a program of the part, and ends it with all its children when the time is over."""
        env = {}
        if command[0] == self.environment.python:
            backend = build.python_path(self.folder, "python_cuda")["PYTHONPATH"]
            paths = (backend, PYTHON, ROOT, ROOT / "examples/cuda_kernel")
            env["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        done = shell.run(
            str(self.log.with_suffix("")),
            command,
            env=env,
            append=True,
            check=False,
            on_line=on_line,
            deadline=self._deadline,
        )
        if check:
            self.check(done)
        return done

    def python(self, *words: str | Path, check: bool = True) -> Done:
        return self.run(self.environment.python, *words, check=check)

    def check(self, *programs: Done) -> None:
        """Raises Failure where one of them failed."""
        log = str(self.log.with_suffix(""))
        texts = [str(shell.failure(log, done)) for done in programs if done.returncode]
        if texts and self.is_late:
            texts.append(f"It was not done after {self.request.limit:g} s.")
        if texts:
            raise console.Failure("\n\n".join(texts))


def last(done: Done, words: str) -> str:
    """The last line with these words in it, or nothing."""
    lines = reversed(done.stdout.splitlines())
    return next((line.strip() for line in lines if words in line), "")
