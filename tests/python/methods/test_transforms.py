"""The methods under autograd, torch.func, make_fx and torch.utils.checkpoint."""

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

# torch.autograd's forward mode scripts its decompositions when it is first used.
pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.filterwarnings("ignore:.*torch.jit"),
]

ACME = torch.device("acme", 0)
DEVICES = ["cpu", "acme"]


def cube(x):
    """Asks and moves, whatever it is given."""
    y = x if x.is_acme else x.acme()
    assert y.is_acme
    return y**3


# ---- autograd


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_come_back_to_the_leaf(device):
    x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
    cube(x).sum().backward()
    assert x.grad.device == x.device and x.grad.tolist() == [3, 12]


def test_hooks_see_the_gradient_on_its_device():
    seen = []
    x = torch.ones(1, requires_grad=True)
    y = x.acme()
    y.register_hook(lambda gradient: seen.append(gradient.device.type))
    x.register_hook(lambda gradient: seen.append(gradient.device.type))
    y.sum().backward()
    assert seen == ["acme", "cpu"]


def test_a_move_can_be_kept_out_of_the_graph():
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        assert x.acme().requires_grad is False
    with torch.inference_mode():
        assert x.acme().is_inference() and x.acme().is_acme
    assert x.acme().grad_fn is not None
    assert x.detach().acme().requires_grad is False


def test_a_custom_function_may_move():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            assert x.is_acme is False
            return x.acme() * 2

        @staticmethod
        def backward(context, gradient):
            assert gradient.is_acme is True
            return gradient.cpu() * 2

    x = torch.ones(2, requires_grad=True)
    Scaled.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_numerical_gradients_agree():
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(cube, (x,), check_forward_ad=True)


@pytest.mark.parametrize("device", DEVICES)
def test_forward_mode_derivatives_move_along(device):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(
            torch.tensor([2.0], device=device), torch.tensor([1.0], device=device)
        )
        assert dual.is_acme is (device == "acme")
        primal, tangent = forward_ad.unpack_dual(cube(dual))
        assert primal.is_acme and tangent.is_acme
        assert primal.item() == 8 and tangent.item() == 12


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpoint_moves_twice(use_reentrant):
    calls = []

    def block(x):
        calls.append(x.is_acme)
        return x.acme().sin()

    x = torch.ones(2, requires_grad=True)
    checkpoint(block, x, use_reentrant=use_reentrant).sum().backward()
    assert calls == [False, False]
    torch.testing.assert_close(x.grad, torch.ones(2).cos())


# ---- torch.func


@pytest.mark.parametrize("device", DEVICES)
def test_vmap_maps_over_the_move(device):
    x = torch.arange(6.0, device=device).reshape(2, 3)
    out = torch.func.vmap(cube)(x)
    assert out.device == ACME and torch.equal(out.cpu(), x.cpu() ** 3)
    other = torch.func.vmap(cube, in_dims=1, out_dims=1)(x)
    assert torch.equal(other.cpu(), x.cpu() ** 3)


@pytest.mark.parametrize("device", DEVICES)
def test_the_property_of_a_mapped_tensor_is_the_tensors(device):
    seen = []

    def ask(x):
        seen.append(x.is_acme)
        return x

    x = torch.ones(2, 2, device=device)
    torch.func.vmap(torch.func.vmap(ask))(x)
    torch.func.grad(lambda t: ask(t).sum())(x)
    torch.func.jvp(ask, (x,), (x,))
    torch.func.functionalize(ask)(x)
    torch.func.vmap(torch.func.grad(lambda t: ask(t).sum()))(x)
    assert len(seen) == 5 and set(seen) == {device == "acme"}


@pytest.mark.parametrize("device", DEVICES)
def test_grad_comes_back_to_the_inputs_device(device):
    x = torch.tensor([1.0, 2.0], device=device)
    gradient = torch.func.grad(lambda t: cube(t).sum())(x)
    assert gradient.device == x.device and gradient.tolist() == [3, 12]
    second = torch.func.grad(lambda t: torch.func.grad(lambda u: cube(u).sum())(t).sum())(x)
    assert second.device == x.device and second.tolist() == [6, 12]


@pytest.mark.parametrize("device", DEVICES)
def test_vjp_and_jvp_agree(device):
    x = torch.tensor([1.0, 2.0], device=device)
    out, pull = torch.func.vjp(cube, x)
    assert pull(torch.ones_like(out))[0].tolist() == [3, 12]
    primal, tangent = torch.func.jvp(cube, (x,), (torch.ones_like(x),))
    assert primal.is_acme and tangent.is_acme and tangent.tolist() == [3, 12]


@pytest.mark.parametrize("device", DEVICES)
def test_functionalize_sees_the_same_memory(device):
    def f(x):
        y = x.acme()
        y.add_(1)
        return y

    x = torch.zeros(2, device=device)
    out = torch.func.functionalize(f)(x)
    assert out.is_acme and out.tolist() == [1, 1]
    assert x.tolist() == ([1, 1] if device == "acme" else [0, 0])


# ---- make_fx


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("device", DEVICES)
def test_a_traced_graph_moves(mode, device):
    graph = make_fx(cube, tracing_mode=mode)(torch.ones(2, device=device))
    copies = [node for node in graph.graph.nodes if "_to_copy" in str(node.target)]
    assert len(copies) == (1 if device == "cpu" else 0)
    assert all(node.kwargs["device"] == ACME for node in copies)
    x = torch.tensor([1.0, 2.0], device=device)
    assert graph(x).is_acme and graph(x).tolist() == [1, 8]


def test_a_symbolic_graph_is_for_every_size():
    graph = make_fx(lambda x: x.acme() + x.shape[0], tracing_mode="symbolic")(torch.ones(3))
    assert graph(torch.zeros(5)).tolist() == [5] * 5


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_a_traced_gradient_comes_back(mode):
    gradient = torch.func.grad(lambda x: cube(x).sum())
    graph = make_fx(gradient, tracing_mode=mode)(torch.ones(2))
    out = graph(torch.tensor([1.0, 2.0]))
    assert out.device.type == "cpu" and out.tolist() == [3, 12]


def test_a_symbolic_trace_of_python_has_the_method():
    class Moving(nn.Module):
        def forward(self, x):
            return x.acme(0, non_blocking=True) + 1

    graph = torch.fx.symbolic_trace(Moving())
    (move,) = [node for node in graph.graph.nodes if node.op == "call_method"]
    assert move.target == "acme" and move.args[1:] == (0,)
    assert move.kwargs == {"non_blocking": True}
    assert graph(torch.zeros(2)).is_acme
    assert graph(torch.zeros(2)).tolist() == [1, 1]


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.functionalize])
def test_a_module_may_move_inside_of_a_transform(transform):
    def moved(x):
        module = torch.nn.Linear(2, 1)
        with torch.no_grad():
            module.weight.fill_(2)
        return module.acme()(x.acme()).sum()

    out = transform(moved)(torch.ones(1, 2))
    assert torch.isfinite(out.cpu()).all()
