"""What to paste to see one of PyTorch's tests fail again, without Outback where that goes."""

from __future__ import annotations

import shlex

from ..item import Item
from .request import Request

_AFTER = "import {}, runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"


def of(request: Request, item: Item, label: str, file: str, asked_for: str) -> str:
    """`label` is the test as PyTorch's runner takes it; "" where that runner cannot run it."""
    if not label:
        return _by_outback(request, item)
    python = ["python", "-c", _AFTER.format(", ".join(request.imports))]
    command = python if request.imports else ["python"]
    line = shlex.join([*command, file, label])
    where = shlex.quote(str(request.folder))
    # With CI set, as GitHub sets it, PyTorch's runner wants unittest-xml-reporting.
    return f"cd {where} && CI= PYTORCH_TESTING_DEVICE_ONLY_FOR={asked_for} {line}"


def _by_outback(request: Request, item: Item) -> str:
    command = ["outback", "conformance", "--device", request.device]
    for module in request.imports:
        command += ["--import", module]
    command += ["--pytorch-tests", str(request.folder), "--level", request.level]
    words = f'"{item.id}"' if set(item.id) & set(" ()") else item.id
    return shlex.join([*command, "--suite", item.suite, "-k", words])
