"""A check that leaves a mark, then one that waits for a file."""

import os
import time
from pathlib import Path

from conformance.backend import Backend
from conformance.check import check

FOLDER = "WAITING_FOLDER"  # in the environment: where the marks are


def _mark(name: str) -> Path:
    path = Path(os.environ[FOLDER])
    with (path / "marks").open("a") as marks:
        marks.write(f"{name}\n")
    return path


@check()
def passes_at_once(_: Backend) -> None:
    """It ran."""
    _mark("passes_at_once")


@check()
def waits(_: Backend) -> None:
    """There is a file."""
    path = _mark("waits")
    (path / "process").write_text(str(os.getpid()))
    while not (path / "go").exists():
        time.sleep(0.05)
