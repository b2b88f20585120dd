"""Reductions: the CPU's values, dtypes, strides and errors."""

import pytest
import torch

from .conftest import assert_equals_the_cpu, rand, wide

pytestmark = pytest.mark.turns_on_memory

CALLS = {
    "sum": lambda on: on(rand(3, 4)).sum(),
    "sum of rows": lambda on: on(rand(3, 4)).sum(1, keepdim=True),
    "sum, transposed": lambda on: on(rand(3, 4)).t().sum(0),
    "sum to double": lambda on: on(rand(3, 4)).sum(dtype=torch.float64),
    "sum of integers": lambda on: on(rand(3, 4).int()).sum(0),
    "sum of half": lambda on: on(rand(3, 400).half()).sum(1),
    "sum of nothing": lambda on: on(rand(0, 4)).sum(0),
    "sum of a number": lambda on: on(rand(1)[0]).sum(),
    "sum, no such dimension": lambda on: on(rand(3, 4)).sum(2),
    "sum of a bfloat16 broadcast": lambda on: on(rand(5, 3, 4).bfloat16()).sum((0, 1), True),
    "mean": lambda on: on(rand(3, 4)).mean(),
    "mean of rows": lambda on: on(rand(3, 4)).mean((0, -1), keepdim=True),
    "mean of nothing": lambda on: on(rand(0, 4)).mean(0),
    "mean, empty": lambda on: on(rand(0, 4)).mean(1),
    "mean of half": lambda on: on(rand(3, 400).half()).mean(1),
    "mean to double": lambda on: on(rand(3, 4)).mean(dtype=torch.float64),
    "mean of integers": lambda on: on(rand(3, 4).int()).mean(),
    "trace": lambda on: on(rand(4, 5)).trace(),
    "trace, transposed": lambda on: on(rand(4, 5)).t().trace(),
    "trace of integers": lambda on: on(rand(4, 5).int()).trace(),
    "trace of a vector": lambda on: on(rand(4)).trace(),
    "sum of a mask": lambda on: (on(rand(3, 4)) > 0).sum(),
    "sum of a large mask": lambda on: (on(rand(300, 400)) > 0).sum(1),
    "all": lambda on: (on(rand(3, 4)) > -9).all(),
    "all of floats": lambda on: on(rand(300, 400)).all(1),
    "all of bytes": lambda on: on(rand(3, 4).byte()).all(0),
    "all of one": lambda on: on(rand(1)).all(),
    "all of nothing": lambda on: on(rand(0)).all(),
    "any of a dimension": lambda on: (on(rand(3, 4)) > 1).t().any(0, keepdim=True),
    "any of complex": lambda on: on(rand(3).cfloat()).any(),
    "max": lambda on: on(rand(3, 4)).max(),
    "max, transposed": lambda on: on(rand(3, 4)).t().max(),
    "max of nothing": lambda on: on(rand(0)).max(),
    "max of bools": lambda on: (on(rand(3)) > 0).max(),
    "max of complex": lambda on: on(rand(3).cfloat()).max(),
    "max of a conjugate's": lambda on: on(rand(4).cfloat() * 1j).conj().imag.max(),
    "max of rows": lambda on: on(rand(3, 4)).max(-1)[1],
    "max of a number's only": lambda on: on(rand(1)[0]).max(0)[0],
    "max, no such dimension": lambda on: on(rand(3, 4)).max(2)[0],
    "min of columns, kept": lambda on: on(rand(3, 4).int()).min(0, keepdim=True)[0],
    "aminmax": lambda on: on(rand(3, 4)).t().aminmax(dim=1)[1],
    "argmax": lambda on: on(rand(3, 4)).argmax(),
    "argmax of columns": lambda on: on(rand(3, 4)).t().argmax(0),
    "argmin of nothing": lambda on: on(rand(0)).argmin(),
    "topk": lambda on: on(rand(3, 9)).topk(4, 1)[1],
    "topk, too many": lambda on: on(rand(3)).topk(4)[1],
    "topk, transposed": lambda on: on(rand(9, 3)).t().topk(4, largest=False)[0],
    "nansum": lambda on: on(rand(3, 4)).log().nansum(1),
    "nansum of integers": lambda on: on(rand(3, 4).int()).nansum(),
    "nanmean": lambda on: on(rand(3, 4)).log().nanmean(0),
    "prod": lambda on: on(rand(3, 4)).prod(),
    "prod of rows to double": lambda on: on(rand(3, 4)).prod(1, dtype=torch.float64),
    "prod of integers": lambda on: on(rand(3, 4).int()).prod(1),
    "count_nonzero": lambda on: torch.count_nonzero(on(rand(3, 4)).relu()),
    "count_nonzero of rows": lambda on: torch.count_nonzero(on(rand(3, 4)).relu(), 1),
    "cumsum": lambda on: on(rand(3, 4)).t().cumsum(0),
    "cumsum of a number": lambda on: on(rand(1)[0]).cumsum(0),
    "cumsum of integers": lambda on: on(rand(3, 4).int()).cumsum(1),
    "cumprod to double": lambda on: on(rand(3, 4)).cumprod(1, dtype=torch.float64),
    "logcumsumexp": lambda on: on(rand(3, 4)).logcumsumexp(0),
    "norm": lambda on: torch.norm(on(rand(3, 4)), 3.0, 0, keepdim=True),
    "norm of integers": lambda on: torch.norm(on(rand(3).int()), 2, 0),
    "dist": lambda on: torch.dist(on(rand(3, 4)), on(rand(4)), 1),
    "var_mean": lambda on: torch.stack(torch.var_mean(on(rand(3, 4)), 0)),
    "var_mean, transposed": lambda on: torch.stack(
        torch.var_mean(on(rand(3, 4)).t(), (0, 1), correction=0.5)
    ),
    "var_mean of one": lambda on: torch.stack(torch.var_mean(on(rand(1)), 0)),
    "var_mean of nothing": lambda on: torch.stack(torch.var_mean(on(rand(0, 4)), 0)),
    "var_mean of integers": lambda on: torch.stack(torch.var_mean(on(rand(3).int()), 0)),
    "std_mean": lambda on: torch.stack(torch.std_mean(on(rand(3, 4)), -1, keepdim=True)),
    "std_mean of half": lambda on: torch.stack(torch.std_mean(on(rand(3, 40).half()), 1)),
    "kthvalue": lambda on: on(rand(3, 4)).kthvalue(2, 0)[0],
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_equals_the_cpu(call, put):
    assert_equals_the_cpu(call, put)


DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.complex64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "function", [torch.sum, torch.mean, torch.amax, torch.amin, torch.linalg.vector_norm]
)
def test_in_every_form(function, dtype):
    x = wide(4, 5, 6, dtype=dtype)
    for dims in ((0,), (1, 2), (-1,), (0, 1, 2), (0, 0), (3,)):
        for keeps in (False, True):
            assert_equals_the_cpu(lambda on, d=dims, k=keeps: function(on(x), dim=d, keepdim=k))
    assert_equals_the_cpu(lambda on: function(on(x).transpose(0, 2), dim=1))
    large = wide(30, 5, 70, 5, dtype=dtype)
    assert_equals_the_cpu(lambda on: function(on(large), dim=(0, 2)))
    assert_equals_the_cpu(lambda on: function(on(x[:0]), dim=1))
    assert_equals_the_cpu(lambda on: function(on(x[:0]), dim=0))
    assert_equals_the_cpu(lambda on: function(on(x[0, 0, 0]), dim=0))
    if function not in (torch.amax, torch.amin):
        assert_equals_the_cpu(lambda on: function(on(x), dim=1, dtype=torch.float64))
    if function is torch.linalg.vector_norm:
        for order in (0, 1, 2, 3.5, float("inf"), -float("inf")):
            assert_equals_the_cpu(lambda on, o=order: function(on(x), o, dim=1))
            assert_equals_the_cpu(lambda on, o=order: function(on(x), o, dim=0, keepdim=True))
