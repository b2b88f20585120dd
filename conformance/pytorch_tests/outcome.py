"""Runs one test by unittest, and says what came of it as an entry."""

from __future__ import annotations

import traceback
import unittest
from collections.abc import Iterator
from typing import Any

import torch

from .. import dtypes
from ..running.source import Entry
from .loading import Test

_TRACE = 8000  # characters
_LINE = 300
_EXPECTED = "PyTorch expects the test to fail, and it does"


def run(test: Test, device: torch.device) -> Entry:
    """With the fixtures of its class and of its module."""
    said = _Said()
    unittest.TestSuite([test.case(test.method)]).run(said)
    if said.raised:
        return failed(said.raised[0], device)
    if said.unexpectedSuccesses:
        return {"status": "failed", "error": "PyTorch expects the test to fail, and it passes"}
    if said.skipped:
        return {"status": "skipped", "reason": said.skipped[0][1]}
    if said.expectedFailures:
        return {"status": "passed", "remark": _EXPECTED}
    return {"status": "passed"}


class _Said(unittest.TestResult):
    """Keeps what was raised, where unittest's keeps a text."""

    def __init__(self) -> None:
        super().__init__()
        self.raised: list[BaseException] = []

    def addError(self, test: Any, err: Any) -> None:
        self.raised.append(err[1])

    addFailure = addError

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.raised.append(err[1])


def failed(error: BaseException, device: torch.device) -> Entry:
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    found: Entry = {"status": "failed", "error": _line(error), "trace": "".join(lines)[-_TRACE:]}
    # PyTorch's op_db tests raise another exception from the one of the operator.
    missing = next((e for e in _chain(error) if isinstance(e, NotImplementedError)), None)
    if missing is not None:
        found |= {"not_implemented": True, "error": _line(missing)}
    elif needed := dtypes.needed(device, error):
        found |= {"not_implemented": True, "error": needed}
    return found


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _line(error: BaseException) -> str:
    """With the details that torch.testing gives below the first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and lines[0].endswith(("are not close!", "are not equal!")):
        lines = ["; ".join(lines[:3])]
    said = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    if not lines and error.__traceback__ is not None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{said}: {frame.line}"
    return said if len(said) <= _LINE else said[: _LINE - 1] + "…"
