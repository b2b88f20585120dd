"""The backend of examples/custom_op: PYTHONPATH=<build>/python_kernels, as in ./dev test."""

from contextlib import contextmanager

import pytest
import torch

if not hasattr(torch.ops.acme, "calls"):
    pytest.exit("needs PYTHONPATH=build/dev/python_kernels, a backend with native kernels", 4)


@contextmanager
def _runs(name: str, times: int):
    before = torch.ops.acme.calls(name)
    yield
    assert torch.ops.acme.calls(name) - before == times, f"runs of the native {name}"


@pytest.fixture
def runs():
    """`with runs("mul", 1)`: that the native kernel runs so often, neither more nor less."""
    return _runs


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
