"""What to paste to see a failure again."""

from __future__ import annotations

import shlex
from typing import Any

from .item import Item
from .opinfo import reproduction as of_operators
from .request import Request

PYTHON, SHELL = "python", "shell"


def language(item: Item) -> str:
    """What `of` is written in."""
    return PYTHON if item.suite == "operators" else SHELL


def of(request: Request, item: Item, entry: dict[str, Any]) -> str:
    """A program, for an operator; for the rest the command that runs this entry alone."""
    if language(item) == PYTHON:
        settings: Any = request.sample_settings()
        operator: Any = item
        return of_operators.program(settings, operator, entry)
    command = ["outback", "conformance", "--device", request.device]
    for module in request.imports:
        command += ["--import", module]
    command += ["--level", request.level, "--suite", item.suite]
    words = f'"{item.id}"' if set(item.id) & set(" ()") else item.id
    return shlex.join([*command, "-k", words])
