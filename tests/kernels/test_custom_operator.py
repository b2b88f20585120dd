"""acme::scaled_silu: derivative, shape function and autocast policy of an operator that is new."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import silu

scaled_silu = torch.ops.acme.scaled_silu


def reference(x, scale=1.0):
    return scale * silu(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_values(dtype, runs):
    x = torch.randn(3, 4).to(dtype)
    with runs("scaled_silu", 1):
        result = scaled_silu(x.acme().t(), 2.0)
    assert result.stride() == (1, 4) and result.dtype == dtype
    torch.testing.assert_close(result.t().cpu(), reference(x, 2.0))


def test_derivatives():
    x = torch.randn(2, 3, dtype=torch.float64).acme().requires_grad_()
    assert torch.autograd.gradcheck(scaled_silu, (x, 1.5))
    assert torch.autograd.gradgradcheck(scaled_silu, (x, 1.5))


def test_a_derivative_costs_nothing_where_none_is_asked_for():
    x = torch.randn(3, device="acme")
    assert scaled_silu(x).grad_fn is None
    x.requires_grad_()
    assert scaled_silu(x).requires_grad
    with torch.no_grad():
        assert not scaled_silu(x).requires_grad


def test_compiled_autograd():
    """Two calls in one graph, whose nodes differ by what they saved alone."""
    x = torch.randn(3).requires_grad_()

    def backward(x, operator, scale):
        x.grad = None
        (operator(x, scale).sum() + operator(2 * x, scale + 1).sum()).backward()
        return x.grad

    on_device = x.detach().acme().requires_grad_()
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager")):
        for scale in (1.5, 2.5, 1.5):
            result = backward(on_device, scaled_silu, scale)
            torch.testing.assert_close(result.cpu(), backward(x, reference, scale))


def of_sum(function):
    return lambda x: function(x, 2.0).sum()


TRANSFORMS = {
    "grad": lambda f: torch.func.grad(of_sum(f)),
    "grad of grad": lambda f: torch.func.grad(lambda x: torch.func.grad(of_sum(f))(x).sum()),
    "vmap": lambda f: torch.func.vmap(f),
    "vmap of grad": lambda f: torch.func.vmap(torch.func.grad(of_sum(f))),
    "grad of vmap": lambda f: torch.func.grad(lambda x: torch.func.vmap(f)(x).sum()),
    "vjp": lambda f: lambda x: torch.func.vjp(f, x)[1](torch.ones_like(x))[0],
    "jacrev": lambda f: torch.func.jacrev(f),
    "hessian": lambda f: torch.func.jacrev(torch.func.grad(of_sum(f))),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_transforms(transform):
    x = torch.randn(3, 4, dtype=torch.float64)
    result = transform(scaled_silu)(x.acme())
    torch.testing.assert_close(result.cpu(), transform(reference)(x))
    assert torch.func.grad(of_sum(reference))(x).shape == x.shape  # its state is put back


def test_forward_mode_is_refused():
    x = torch.randn(3, device="acme")
    with pytest.raises(RuntimeError, match="jvp is not implemented"):
        torch.func.jvp(scaled_silu, (x,), (x,))


def test_fake_tensors(runs):
    with FakeTensorMode(), runs("scaled_silu", 0):
        x = torch.empty(4, 3, device="acme:1").t()
        result = scaled_silu(x, 2.0)
        assert (result.shape, result.stride()) == (x.shape, x.stride())
        assert result.device == x.device
        with pytest.raises(RuntimeError, match="expected a floating-point tensor"):
            scaled_silu(x.int())


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile(backend, dynamic, runs):
    def step(x):
        return scaled_silu(x * 2, 3.0).sum(-1)

    compiled = torch.compile(step, backend=backend, dynamic=dynamic, fullgraph=True)
    for rows in (2, 5):
        x = torch.randn(rows, 3)
        there = x.acme().requires_grad_()
        with runs("scaled_silu", 1):
            result = compiled(there)
        on_cpu = x.clone().requires_grad_()
        expected = reference(on_cpu * 2, 3.0).sum(-1)
        torch.testing.assert_close(result.detach().cpu(), expected.detach())
        result.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(there.grad.cpu(), on_cpu.grad)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx(mode):
    x = torch.randn(3, 4)
    graph = make_fx(lambda y: scaled_silu(y, 2.0), tracing_mode=mode)(x.acme())
    called = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    assert called == [scaled_silu.default]
    torch.testing.assert_close(graph(x.acme()).cpu(), reference(x, 2.0))


def test_pytorchs_own_checks_of_an_operator():
    # Not test_autograd_registration: it knows CPU, CUDA and XPU.
    checks = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    x = torch.randn(3, 4, device="acme", requires_grad=True)
    result = torch.library.opcheck(scaled_silu, (x, 2.0), test_utils=checks)
    assert set(result.values()) == {"SUCCESS"}


def test_autocast():
    x = torch.randn(4, device="acme")
    with torch.autocast("acme", dtype=torch.bfloat16):
        assert scaled_silu(x.bfloat16()).dtype == torch.float32
        assert scaled_silu(x).dtype == torch.float32
        assert scaled_silu(x.double()).dtype == torch.float64
    assert scaled_silu(x.bfloat16()).dtype == torch.bfloat16


def test_autocast_and_the_derivative():
    x = torch.randn(4).bfloat16().acme().requires_grad_()
    with torch.autocast("acme", dtype=torch.bfloat16):
        result = scaled_silu(x)
    result.sum().backward()
    assert result.dtype == torch.float32 and x.grad.dtype == torch.bfloat16
