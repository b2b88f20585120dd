"""A program that runs with its operators recorded, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..conformance.running import interpreter
from ..refused import Refused
from ..signals import name_of
from . import document
from .document import Document


def run(arguments: Sequence[str], with_stack: bool) -> tuple[Document, int]:
    """Runs Python with these arguments, and returns what its processes recorded, and its exit code.

    Refused if none did.
    """
    with tempfile.TemporaryDirectory(prefix="outback-ops-") as folder:
        wanted = {
            "OUTBACK_OPERATORS": f"{folder}/%p.json",
            "OUTBACK_OPERATORS_STACK": str(int(with_stack)),
        }
        with subprocess.Popen(
            interpreter.as_given(*arguments), env={**os.environ, **wanted}
        ) as process:
            code = _end_of(process)
        main = Path(folder, f"{process.pid}.json")
        others = sorted(it for it in Path(folder).glob("*.json") if it != main)
        files = [*([main] if main.exists() else []), *others]
        if not files:
            raise Refused(_why_nothing(code))
        return document.sum_of(document.read(it) for it in files), code


# They ask a program to end. Whoever sends them may know of the command alone.
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


def _end_of(process: subprocess.Popen[bytes]) -> int:
    """Control-C goes to the program too: it decides whether it ends."""
    before = {
        each: signal.signal(each, lambda number, _: process.send_signal(number))
        for each in _PASSED_ON
    }
    try:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _why_nothing(code: int) -> str:
    if code < 0:
        return f"the program died of {name_of(-code)}, and its record with it"
    return (
        f"the program ended with {code} and recorded nothing: it loads no backend of Outback's, or "
        f"one that is older than this command, or it ended past Python's end (os._exit, os.execv); "
        f"does `import torch` load the backend? (`outback doctor` says)"
    )
