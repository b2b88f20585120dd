"""PyTorch's own tests, from the `test/` folder of its source tree, on a backend and on the CPU.

A device-generic test is a template, of which `instantiate_device_type_tests` makes a test for each
device type. Here a process with the backend makes and runs those of the backend, and a process
without it those of the CPU; what passes on the CPU only is what the report is about.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..running.refused import Refused

if TYPE_CHECKING:
    from ..session import Files


def command(
    files: tuple[str, ...], options: dict[str, Any], written: Files, resume: bool, lists: bool
) -> int:
    """The exit status; `options` are those of the command. Raises Refused."""
    from .. import filtering, session
    from .request import Request, chosen_files
    from .run import TestsRun

    folder = Path(options["pytorch_tests"]).resolve()
    taken = ("device", "imports", "level", "filter", "jobs", "timeout")
    if options.get("filter"):
        filtering.compiled(options["filter"])
    if options["device"].partition(":")[0] == "cpu":
        raise Refused("--pytorch-tests compares a device with the CPU, and needs another one")
    request: Any = Request(
        folder=folder,
        files=chosen_files(folder, files),
        chosen=bool(files),
        **{name: options[name] for name in taken if name in options},
    )
    runs: Any = TestsRun
    return session.command(request, written, resume, lists, runs=runs)
