"""Operators that PyTorch composes by way of float64, on a device without it: as on the CPU."""

import pytest

WITHOUT = {"OUTBACK_FLOAT64": "0"}

# `compare` makes a call on the CPU and on the device; `slope` is one that also has a derivative.
PROGRAM = """
import torch
from torch import linalg

torch.manual_seed(0)
tall, square, batch = torch.randn(5, 3), torch.randn(3, 3), torch.randn(2, 4, 3)
graded = torch.diag(torch.tensor([1.0, 0.5, 1e-3, 1e-9]))
complex64 = torch.randn(4, 3, dtype=torch.complex64)

def compare(call):
    expected, result = call(torch.Tensor.clone), call(torch.Tensor.acme)
    assert result.device.type == "acme"
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert torch.allclose(result.cpu(), expected, rtol=1e-4, atol=1e-5), (result, expected)

def slope(of, *inputs):
    def call(put):
        there = [put(each).requires_grad_() for each in inputs]
        of(*there).abs().square().sum().backward()
        return torch.cat([each.grad.flatten() for each in there])
    compare(call)

def refused(call, given, words=""):
    try:
        call(given.acme())
    except (RuntimeError, IndexError) as error:
        assert words in str(error), error
        return
    raise AssertionError(words)

def settings(*names):
    for chosen in ({}, dict(zip(names, (1e-2, 0.9))), *({n: v} for n in names for v in (0.0, 0.6))):
        yield lambda put: chosen
        yield lambda put: {name: put(torch.tensor(value)) for name, value in chosen.items()}
"""

RANK = """
for given in settings("atol", "rtol"):
    compare(lambda put: linalg.matrix_rank(put(graded), **given(put)))
    out = lambda put: put(torch.empty(0, dtype=torch.int64))
    compare(lambda put: linalg.matrix_rank(put(graded), **given(put), out=out(put)))
for tol in (0.0, 1e-2):
    compare(lambda put: linalg.matrix_rank(put(graded), tol=tol))
    compare(lambda put: linalg.matrix_rank(put(graded), tol=tol, out=out(put)))
for each in (tall, batch, complex64, torch.empty(2, 0, 3)):
    compare(lambda put: linalg.matrix_rank(put(each)))
compare(lambda put: linalg.matrix_rank(put(square + square.mT), hermitian=True))
refused(lambda x: linalg.matrix_rank(x, atol=0.1), tall[0], "linalg.matrix_rank")
"""

PINV = """
for given in (*settings("atol", "rtol"), *settings("rcond")):
    compare(lambda put: linalg.pinv(put(graded), **given(put)))
    compare(lambda put: linalg.pinv(put(graded), **given(put), out=put(torch.empty(0))))
for each in (tall, batch, complex64, torch.empty(0, 3)):
    compare(lambda put: linalg.pinv(put(each)))
compare(lambda put: linalg.pinv(put(square + square.mT), hermitian=True))
compare(lambda put: torch.pinverse(put(tall)))
slope(linalg.pinv, tall)
slope(lambda x: linalg.pinv(x, atol=0.1), tall)
for each in (tall[0], tall[0, 0], tall.int()):
    refused(lambda x: linalg.pinv(x, atol=0.1), each)
with torch.inference_mode():
    compare(lambda put: linalg.pinv(put(tall), atol=0.1))
"""

LSTSQ = """
for each in (tall, tall.mT):
    slope(lambda a, b: linalg.lstsq(a, b).solution, each, torch.randn(len(each), 2))
"""

RENORM = """
def in_place(x):
    return (x * 2).renorm_(2, 0, 1.0)

for p in (0.5, 1, 2, 3, float("inf")):
    slope(lambda x: x.renorm(p, -1, 1.0), tall)
slope(lambda x: x.renorm(2, 1, 1.0), batch)
slope(lambda x: x.renorm(2, 0, 1.0), complex64)
slope(lambda x: x.renorm(2, 0, 1.0), torch.zeros(2, 3))
slope(in_place, tall)
compare(lambda put: put(tall).renorm(2, 0, 1.0))

def twice(put):
    x = put(tall).requires_grad_()
    first, = torch.autograd.grad(x.renorm(2, 0, 1.0).square().sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)[0]

compare(twice)
forward = lambda x: torch.func.jvp(lambda x: x.renorm(2, 0, 1.0), (x,), (x * x,))[1]
compare(lambda put: forward(put(tall)))
for p, most in ((-1, 1.0), (2, -1.0)):
    refused(lambda x: x.requires_grad_().renorm(p, 0, most), tall, "renorm: ")
"""

BATCH_NORM = """
norm = torch.nn.functional.batch_norm
for size in ((0,), (0, 3), (0, 3, 4, 4), (2, 3, 0)):
    for training in (True, False):
        for affine in ((), (torch.randn(3), torch.randn(3))):
            run = lambda x, *affine: norm(x, zeros(x), ones(x), *affine, training=training)
            zeros, ones = (lambda x: x.new_zeros(3)), (lambda x: x.new_ones(3))
            slope(run, torch.empty(size), *affine)
            compare(lambda put: run(put(torch.empty(size)), *map(put, affine)))
"""

HISTC = """
numbers = torch.tensor([0, 1, 1, 3, 7])
compare(lambda put: torch.bincount(put(numbers)))
assert torch.histc(numbers.acme(), bins=8, min=0, max=7).tolist() == [1, 2, 0, 1, 0, 0, 0, 1]
"""

CALLS = {
    "linalg.matrix_rank": RANK,
    "linalg.pinv": PINV,
    "linalg.lstsq": LSTSQ,
    "renorm": RENORM,
    "batch_norm of nothing": BATCH_NORM,
    "histc of integers": HISTC,
}


@pytest.mark.turns_on_memory
@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
def test_it_computes_as_the_cpu_does(run_python, calls):
    run_python(PROGRAM + calls, **WITHOUT)


@pytest.mark.any_runtime
@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
def test_it_computes_so_with_float64_too(run_python, calls):
    run_python(PROGRAM + calls)


@pytest.mark.any_runtime
@pytest.mark.slow
def test_what_it_is_composed_of_has_no_float64(run_python):
    """As torch.compile sees it. Slow: PyTorch imports its compiler for the first mode."""
    program = """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs={}):
            print(op, end=" ")
            assert kwargs.get("dtype") is not torch.float64, op
            return op(*args, **kwargs)

    x = torch.randn(5, 3).acme()
    with Seen():
        torch.linalg.pinv(x, atol=1e-3)
        torch.linalg.matrix_rank(x)
        torch.nn.functional.batch_norm(x[:0], None, None, training=True)
    """
    seen = run_python(program, **WITHOUT).output
    assert "linalg_pinv.atol_rtol_tensor " in seen and "linalg_svd" in seen
    assert "matrix_rank" not in seen and "batch_norm" not in seen


@pytest.mark.any_runtime
def test_a_vendors_kernel_stays(run_python):
    program = """
    import warnings
    import torch
    warnings.simplefilter("ignore")  # PyTorch warns of a kernel that takes another's place
    x = torch.randn(5, 3).acme()
    library = torch.library.Library("aten", "IMPL")
    for name in ("linalg_pinv.atol_rtol_float", "linalg_matrix_rank.atol_rtol_float"):
        library.impl(name, lambda x, **_: x + 1, "PrivateUse1")
    for call in (torch.linalg.pinv, torch.linalg.matrix_rank):
        assert torch.equal(call(x, atol=1e-3), x + 1), call
    """
    for environment in ({}, WITHOUT):
        run_python(program, **environment, TORCH_CPP_LOG_LEVEL="ERROR")


@pytest.mark.any_runtime
def test_what_the_caller_asks_for_in_float64_is_refused(run_python):
    program = """
    import torch

    x = torch.ones(2, 2).acme()
    torch.linalg.pinv(x)
    for call in (
        lambda: x.double(),
        lambda: torch.zeros(2, dtype=torch.float64, device="acme"),
        lambda: x.sum(dtype=torch.float64),
        lambda: torch.linalg.vector_norm(x, dtype=torch.float64),
        lambda: x.float_power(2),
    ):
        try:
            print(call().dtype)
        except TypeError as error:
            assert "cannot be torch.float64" in str(error)
    """
    assert run_python(program, **WITHOUT).output == ""
