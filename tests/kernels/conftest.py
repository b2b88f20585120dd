"""The kernels of examples/custom_op, in a backend or as a library that is loaded after one.

PYTHONPATH=<build>/python_kernels; or <build>/python_protected, a backend without kernels of its
own, with OUTBACK_LATER_KERNELS, which names the library. As in ./dev test.
"""

import os
from contextlib import contextmanager

import pytest
import torch

if later := os.environ.get("OUTBACK_LATER_KERNELS"):
    torch.ones(2, device="acme").mul_(2)  # by what served it until then
    torch.ops.load_library(later)
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
