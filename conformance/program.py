"""A Python program in a process of its own, for what can be done to a process only once."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import textwrap
from typing import Any

from .backend import Backend
from .check import Skipped
from .running import interpreter

# The program has `torch`, `device`, a torch.device, and `module`, torch.<name>.
_BEGIN = """{before}
import importlib, sys, warnings
import torch
for name in {imports!r}:
    importlib.import_module(name)
device = torch.device({device!r})
module = torch.get_device_module(device)
sys.stderr.flush()
print({mark!r}, file=sys.stderr, flush=True)
"""
_MARK = "---- the program begins"


@dataclasses.dataclass(frozen=True)
class Finished:
    """A program that has run to its end; `errors` is what it said on stderr after the backend was
    loaded."""

    status: int
    output: str
    errors: str

    def __str__(self) -> str:
        ended = f"signal {-self.status}" if self.status < 0 else f"status {self.status}"
        last = self.errors.splitlines()[-1:]
        said = [text[-2000:] for text in (self.output, self.errors) if text]
        return "\n".join([": ".join([f"the program ended with {ended}", *last]), *said])


def packages_of(backend: Backend) -> list[str]:
    """What a program has to import for the backend to be there."""
    named = list(backend.imports)
    package = backend.module.__name__.partition(".")[0]
    if not named and package in ("torch", "__main__"):
        raise Skipped("needs the name of the package that registers the backend")
    return named or [package]


def run(
    backend: Backend,
    source: str,
    *,
    seconds: float = 60,
    before: str = "",
    arguments: tuple[str, ...] = (),
    **environment: str,
) -> Finished:
    """Runs source text with the backend loaded, and `before` ahead of the import of torch, which
    may load it. A program that does not end fails the check."""
    begin = _BEGIN.format(
        before=textwrap.dedent(before),
        imports=packages_of(backend),
        device=str(backend.device),
        mark=_MARK,
    )
    command = interpreter.program(begin + textwrap.dedent(source), *arguments)
    path = os.pathsep.join(filter(None, sys.path))
    try:
        process = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": path, "PYTHONFAULTHANDLER": "1"} | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",  # a driver may say anything
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise AssertionError(f"the program had not ended after {seconds:.0f} s") from None
    errors = process.stderr.partition(_MARK)[2] or process.stderr
    return Finished(process.returncode, process.stdout.strip(), errors.strip())


def run_well(backend: Backend, source: str, **how: Any) -> str:
    """As run; it has to end with status 0 and without a word on stderr. What it printed."""
    finished = run(backend, source, **how)
    assert finished.status == 0 and not finished.errors, str(finished)
    return finished.output
