"""torch.autocast: dtypes, nesting, its cache, and what users teach it."""

import threading

import pytest
import torch

pytestmark = pytest.mark.any_runtime


def dtype_of_a_product(x: torch.Tensor | None = None) -> torch.dtype:
    x = torch.ones(4, 4, device="acme") if x is None else x
    return (x @ x).dtype


def test_the_dtypes_are_the_backends():
    supported = torch.acme.get_amp_supported_dtype()
    assert supported == [torch.float16, torch.bfloat16]
    assert torch.get_autocast_dtype("acme") == supported[0]
    for dtype in supported:
        with torch.autocast("acme", dtype=dtype):
            assert dtype_of_a_product() == dtype
    with torch.autocast("acme"):
        assert dtype_of_a_product() == supported[0]


def test_operators_of_higher_order_leave_it_to_what_they_call():
    x = torch.ones(4, 4, device="acme")
    with torch.autocast("acme", dtype=torch.bfloat16):
        chosen = torch.cond(x.sum() > 0, lambda x: x @ x, lambda x: x @ x + 1, (x,))
    assert chosen.dtype == torch.bfloat16 and chosen.tolist() == [[4.0] * 4] * 4


def test_a_default_can_be_set():
    before = torch.get_autocast_dtype("acme")
    torch.set_autocast_dtype("acme", torch.bfloat16)
    try:
        with torch.autocast("acme"):
            assert dtype_of_a_product() == torch.bfloat16
    finally:
        torch.set_autocast_dtype("acme", before)


def test_other_threads_have_their_own():
    seen = []
    with torch.autocast("acme", dtype=torch.bfloat16):
        thread = threading.Thread(target=lambda: seen.append(dtype_of_a_product()))
        thread.start()
        thread.join()
    assert seen == [torch.float32]


def test_a_backward_pass_casts_to_what_its_caller_does():
    seen = []

    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            seen.append((threading.get_ident(), dtype_of_a_product()))
            return gradient

    x = torch.ones(4, 4, device="acme", requires_grad=True)
    with torch.autocast("acme", dtype=torch.bfloat16):
        Identity.apply(x).sum().backward()
    (thread, dtype) = seen[0]
    computes_here = torch.acme.get_device_properties(0).is_host_addressable
    assert (thread == threading.get_ident()) == computes_here
    assert dtype == torch.bfloat16


def test_the_cpus_autocast_does_not_reach_into_kernels():
    x = torch.randn(4, 4, device="acme")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.float32


def test_both_autocasts_at_once():
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("acme", dtype=torch.float16):
        assert dtype_of_a_product() == torch.float16
        assert dtype_of_a_product(torch.ones(4, 4)) == torch.bfloat16
