"""Reductions, by PyTorch's own samples and for sizes at which they go other ways."""

import pytest
import torch
from dialect.conftest import BACKEND

from portable.samples import check, operators

pytestmark = pytest.mark.turns_on_kernels

NAMES = (
    "sum mean prod amax amin argmax argmin all any std var std_mean var_mean nansum aminmax "
    "count_nonzero logsumexp linalg.vector_norm norm trace renorm hash_tensor"
)


@pytest.mark.parametrize(
    ("info", "dtype"),
    [
        pytest.param(info, dtype, id=f"{info.full_name}-{str(dtype).removeprefix('torch.')}")
        for info in operators(NAMES)
        for dtype in (torch.float32, torch.bfloat16, torch.int64)
        # PoCL compiles each kernel anew.
        if dtype in info.dtypes and (BACKEND != "python_opencl" or dtype == torch.float32)
    ],
)
def test_samples(info, dtype, on_device):
    if info.name == "prod" or "nuc" in info.full_name:
        torch.acme.set_fallback_mode("allow")  # their derivatives take more than reductions
    assert check(info, dtype) > 0


# One result of many values, many of few, rows, columns, and a dimension in the middle.
SHAPES = [
    ((100_000,), None),
    ((3, 70_000), 1),
    ((70_000, 3), 0),
    ((5000, 3), 1),
    ((40, 50, 60), 1),
    ((7, 5, 3, 2), (0, 2)),
    ((2, 3000, 4), (0, 2)),
]


@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
def test_sizes(shape, dim, dtype, on_device):
    torch.manual_seed(0)
    if dtype.is_floating_point:
        a = (torch.randn(shape) + 0.5).to(dtype)
    else:
        a = torch.randint(-9, 9, shape)
    x = a.acme()
    tolerance = {torch.float32: 1e-4, torch.float16: 2e-3}.get(dtype, 0)

    def close(got, want):
        torch.testing.assert_close(got.cpu(), want.to(got.dtype), rtol=tolerance, atol=tolerance)

    exact = a.double() if dtype.is_floating_point else a
    close(x.sum(dim, dtype=torch.float32 if tolerance else None), exact.sum(dim))
    close(torch.amax(x, dim or ()), torch.amax(a, dim or ()))
    assert torch.equal(torch.any(x > 2, dim).cpu(), torch.any(a > 2, dim))
    if dtype.is_floating_point:
        close(x.mean(dim), exact.mean(dim))
        close(x.std(dim), exact.std(dim))
        close(torch.linalg.vector_norm(x, 2, dim, dtype=torch.float32), exact.norm(2, dim))
    if not isinstance(dim, tuple):
        assert torch.equal(x.argmin(dim).cpu(), a.argmin(dim))
    if isinstance(dim, int):
        value, place = x.max(dim)
        assert torch.equal(value.cpu(), a.max(dim).values)
        assert torch.equal(place.cpu(), a.max(dim).indices)


def test_sums_have_the_same_bits_each_time(on_device):
    x = torch.randn(300_000, device="cpu").acme()
    first = x.sum().item()
    assert all(x.sum().item() == first for _ in range(5))


def test_nan_is_the_largest_and_the_smallest(on_device):
    a = torch.randn(4, 500)
    a[1, 77] = a[2, 300] = a[2, 30] = torch.nan
    x = a.acme()
    for function in (torch.argmax, torch.argmin, torch.amax, torch.amin):
        torch.testing.assert_close(function(x, 1).cpu(), function(a, 1), equal_nan=True)


def test_of_no_values(on_device):
    x = torch.empty(3, 0, device="acme")
    assert x.sum(1).tolist() == [0, 0, 0] and x.prod(1).tolist() == [1, 1, 1]
    assert x.mean(1).isnan().all().item()
    assert torch.all(x, 1).tolist() == [True] * 3 and torch.any(x, 1).tolist() == [False] * 3
    assert x.sum(0).shape == (0,)
    with pytest.raises(IndexError, match="non-zero size"):
        x.amax(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_rows_of_limited_norm(dtype, on_device):
    a = torch.randn(5, 40).to(dtype)
    a[2] /= 100  # of a norm that stays
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    for order, dim in ((2, 0), (1, -1), (torch.inf, 0), (3.5, 0)):
        want = torch.renorm(a, order, dim, 1.5)
        got = torch.renorm(a.acme(), order, dim, 1.5)
        torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance)
        x = a.t().contiguous().acme().t()
        x.renorm_(order, dim, 1.5)
        torch.testing.assert_close(x.cpu(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.skipif(not hasattr(torch.ops.aten, "linalg__powsum"), reason="torch has it since 2.13")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_sums_of_powers(dtype, on_device):
    a = torch.randn(7, 300).to(dtype)
    x = a.acme()
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    powsum = torch.ops.aten.linalg__powsum
    for order in (2, 3, 0, 1, 1.5):
        for dim, keepdim in ((None, False), ([1], True), ([0, 1], False)):
            want = powsum(a, order, dim, keepdim)
            got = powsum(x, order, dim, keepdim)
            torch.testing.assert_close(got.cpu(), want, rtol=tolerance, atol=tolerance)
    many = torch.full((100,), 300.0).to(dtype)  # whose squares float16 does not have
    got = powsum(many.acme(), 2, dtype=torch.float32)
    torch.testing.assert_close(got.cpu(), powsum(many, 2, dtype=torch.float32))


TYPES = [torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool]


@pytest.mark.skipif(BACKEND == "python_opencl", reason="float64 is a module of its own")
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_hashes_are_the_cpus(dtype, on_device):
    a = (torch.randn(30, 5000) * 9).abs().to(dtype)
    for dim, keepdim in ((0, False), (1, True), ([0, 1], False), ((), False)):
        want = torch.hash_tensor(a, dim, keepdim=keepdim)
        got = torch.hash_tensor(a.acme(), dim, keepdim=keepdim)
        assert got.dtype == torch.uint64
        assert torch.equal(got.cpu(), want)
    assert torch.equal(torch.hash_tensor(a[:0].acme(), 1).cpu(), torch.hash_tensor(a[:0], 1))


def test_sums_of_truth_values_take_each_value_for_one_first(on_device):
    torch.acme.set_fallback_mode("allow")
    values = torch.tensor([[0.5, 0.0], [-0.25, 0.0]])
    for function in (torch.sum, torch.prod):
        want = function(values, 0, dtype=torch.bool)
        assert torch.equal(function(values.acme(), 0, dtype=torch.bool).cpu(), want)
        mask = values != 0
        want = function(mask, 0, dtype=torch.bool)
        assert torch.equal(function(mask.acme(), 0, dtype=torch.bool).cpu(), want)
