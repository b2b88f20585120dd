"""aten::mm as a native kernel: PyTorch's checks and shapes, and our values."""

import pytest
import torch

CALLS = {
    "a @ b": lambda a, b: a @ b,
    "a.mm(b)": lambda a, b: a.mm(b),
    "transposed": lambda a, b: b.t() @ a.t(),
    "slices": lambda a, b: a[:, ::2] @ b[::2, 1:],
    "conjugate": lambda a, b: a.conj() @ b,
    "empty": lambda a, b: a[:0] @ b,
    "no sum": lambda a, b: a[:, :0] @ b[:0],
    "out=": lambda a, b: torch.mm(a, b, out=a.new_empty(0)),
    "out= transposed": lambda a, b: torch.mm(a, b, out=a.new_empty(5, 3).t()),
    "out= a slice": lambda a, b: torch.mm(a, b, out=a.new_zeros(6, 5)[::2]),
}


def close(result, expected):
    torch.testing.assert_close(result.cpu(), expected)
    assert result.stride() == expected.stride() and result.is_acme


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.complex64])
def test_equals_the_cpu(call, dtype, runs):
    a, b = (torch.randn(3, 4) * 3).to(dtype), (torch.randn(4, 5) * 3).to(dtype)
    with runs("mm", 1):
        close(call(a.acme(), b.acme()), call(a, b))


REFUSED = {
    "shapes": (lambda a: a @ a, "mat1 and mat2 shapes cannot be multiplied"),
    "dimensions": (lambda a: torch.mm(a, a[0]), "mat2 must be a matrix"),
    "dtypes": (lambda a: a @ a.t().double(), "same dtype"),
    "out= of another dtype": (
        lambda a: torch.mm(a, a.t(), out=a.new_empty(3, 3, dtype=torch.float64)),
        "Expected out tensor to have dtype float, but got double instead",
    ),
}


@pytest.mark.parametrize("call, words", REFUSED.values(), ids=REFUSED)
def test_refuses_what_the_cpu_refuses(call, words, runs):
    a = torch.randn(3, 4)
    with pytest.raises(RuntimeError, match=words):
        call(a)
    with runs("mm", 0), pytest.raises(RuntimeError, match=words):
        call(a.acme())


def test_an_output_that_is_not_empty_is_resized_with_a_warning():
    a = torch.randn(3, 4)
    with pytest.warns(UserWarning, match="was resized"):
        out = torch.mm(a.acme(), a.t().acme(), out=torch.empty(7, device="acme"))
    close(out, a @ a.t())


def test_trains(runs):
    net = torch.nn.Linear(4, 2, bias=False)
    copy = torch.nn.Linear(4, 2, bias=False)
    copy.load_state_dict(net.state_dict())
    copy.acme()
    x = torch.randn(8, 4)
    net(x).square().mean().backward()
    with runs("mm", 2):  # forward, and the derivative of the weight
        copy(x.acme()).square().mean().backward()
    torch.testing.assert_close(copy.weight.grad.cpu(), net.weight.grad)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_needs_nothing_more(backend):
    a = torch.randn(3, 4)
    compiled = torch.compile(lambda x: (x @ x.t()) * 2, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(a.acme()).cpu(), (a @ a.t()) * 2)
