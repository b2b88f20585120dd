"""Kernels that a build has packed into the backend: outback_add_backend(KERNELS ...)."""

import subprocess

import pytest
import torch
from conftest import BUILD

from dialect.conftest import BACKEND

pytestmark = pytest.mark.turns_on_memory


def test_a_backend_finds_its_own_kernels():
    if BACKEND != "python_protected":
        pytest.skip("needs tests/backends/protected_kernels.cpp, which has such kernels")
    x = torch.randn(1000)
    assert torch.ops.outback_test.scale_packed(x.acme(), 3.0).cpu().equal(x * 3)


def test_modules_of_the_host_need_libc_and_libm_only():
    if BACKEND != "python_protected":
        pytest.skip("needs a backend with kernels of the format host")
    modules = sorted((BUILD / "tests/backends/torch_acme_protected_library_kernels").glob("*.host"))
    assert len(modules) > 40
    asked = ["nm", "--dynamic", "--undefined-only", *modules]
    lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    needed = {line.split()[1] for line in lines if line.split()[:1] == ["U"]}  # not the weak ones
    assert {name for name in needed if "@GLIBC_" not in name} == set()
    assert any(name.startswith("expf@") for name in needed)
