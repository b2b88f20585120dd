"""Kernels that a build has packed into the backend: outback_add_backend(KERNELS ...)."""

import pytest
import torch

from dialect.conftest import BACKEND

pytestmark = pytest.mark.turns_on_memory


def test_a_backend_finds_its_own_kernels():
    if BACKEND != "python_protected":
        pytest.skip("needs tests/backends/protected_module.cpp, which has such kernels")
    x = torch.randn(1000)
    assert torch.ops.outback_test.scale_packed(x.acme(), 3.0).cpu().equal(x * 3)
