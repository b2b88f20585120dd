"""make_graphed_callables: the same numbers and gradients as the callables have by themselves."""

import gc
import weakref

import pytest
import torch
from torch import nn

acme = torch.acme
pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.usefixtures("records"),
    pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream"),
]


def gradients(net, x, y):
    net.zero_grad()
    y.square().sum().backward()
    return [x.grad.clone(), *(p.grad.clone() for p in net.parameters())]


def test_the_other_mode_runs_as_it_did():
    net = nn.Sequential(nn.Linear(6, 5), nn.Dropout(0.5)).acme()
    acme.make_graphed_callables(net, (torch.randn(4, 6, device="acme"),))
    x = torch.randn(7, 6, device="acme")
    net.eval()
    assert torch.equal(net(x), net[0](x))


def test_a_graphed_module_dies_with_its_memory():
    net = nn.Sequential(nn.Linear(6, 5), nn.Tanh()).acme()
    acme.make_graphed_callables(net, (torch.randn(4, 6, device="acme"),))
    net(torch.randn(4, 6, device="acme")).sum().backward()
    dead = weakref.ref(net)
    del net
    gc.collect()
    assert dead() is None
    acme.empty_cache()
    assert {tuple(s["segment_pool_id"]) for s in acme.memory_snapshot()} <= {(0, 0)}


def test_functions_share_a_pool_and_take_trees():
    def first(pair):
        return {"sum": pair[0] + pair[1], "product": pair[0] * pair[1]}

    def second(x, y):
        return x.sin() @ y

    a = torch.randn(3, 3, device="acme", requires_grad=True)
    b = torch.randn(3, 3, device="acme")
    graphed = acme.make_graphed_callables(
        (first, second), (((a, b),), (torch.randn_like(a, requires_grad=True), b))
    )
    assert isinstance(graphed, tuple)
    u = torch.randn(3, 3, device="acme", requires_grad=True)
    v = torch.randn(3, 3, device="acme")

    def run(f, g):
        parts = f((u, v))
        return g(parts["sum"] + parts["product"], v)

    y, expected = run(*graphed), run(first, second)
    assert torch.equal(y, expected)
    assert torch.equal(
        torch.autograd.grad(y.sum(), u)[0], torch.autograd.grad(expected.sum(), u)[0]
    )


def test_a_function_without_gradients():
    graphed = acme.make_graphed_callables(lambda x: x * 2, (torch.ones(3, device="acme"),))
    assert graphed(torch.full((3,), 4.0, device="acme")).tolist() == [8, 8, 8]


def test_inputs_that_are_not_used_have_to_be_allowed():
    args = tuple(torch.ones(3, device="acme", requires_grad=True) for _ in range(2))
    with pytest.raises(RuntimeError, match="not have been used"):
        acme.make_graphed_callables(lambda x, y: x * 2, args)
    graphed = acme.make_graphed_callables(lambda x, y: x * 2, args, allow_unused_input=True)
    x, y = (torch.ones(3, device="acme", requires_grad=True) for _ in range(2))
    graphed(x, y).sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and y.grad is None


def test_a_pool_may_be_given():
    pool = acme.graph_pool_handle()
    x = torch.ones(3, device="acme")
    acme.make_graphed_callables(lambda x: x * 2, (x,), pool=pool)


def test_the_captures_have_the_mode_that_was_asked_for():
    x = torch.ones(3, device="acme")
    graphed = acme.make_graphed_callables(lambda x: x * 2, (x,), capture_error_mode="relaxed")
    assert graphed(x).sum() == 6
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        acme.make_graphed_callables(lambda x: x * 2, (x,), capture_error_mode="strict")


def test_there_are_no_second_derivatives():
    graphed = acme.make_graphed_callables(
        lambda x: x**3, (torch.ones(3, device="acme", requires_grad=True),)
    )
    x = torch.ones(3, device="acme", requires_grad=True)
    (g,) = torch.autograd.grad(graphed(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


def test_what_cannot_be_graphed_is_refused():
    x = torch.ones(3, 3, device="acme")
    hooked = nn.Linear(3, 3).acme()
    hooked.register_forward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match="must not have hooks"):
        acme.make_graphed_callables(hooked, (x,))
    buffered = nn.Linear(3, 3).acme()
    buffered.register_buffer("b", torch.ones(3, device="acme", requires_grad=True))
    with pytest.raises(RuntimeError, match="only parameters may be trainable"):
        acme.make_graphed_callables(buffered, (x,))
    with pytest.raises(RuntimeError, match="must contain only Tensors"):
        acme.make_graphed_callables(lambda x, n: x * n, (x, 3))
    with pytest.raises(NotImplementedError, match="enable_annotations"):
        acme.make_graphed_callables(lambda x: x, (x,), enable_annotations=True)
    with torch.autocast("acme"):
        with pytest.raises(RuntimeError, match="does not support the autocast caching"):
            acme.make_graphed_callables(lambda x: x, (x,))
    with torch.autocast("acme", cache_enabled=False):
        acme.make_graphed_callables(lambda x: x @ x, (x,))


def test_a_call_with_another_number_of_tensors_is_refused():
    x = torch.ones(3, device="acme")
    graphed = acme.make_graphed_callables(lambda x: x * 2, (x,))
    with pytest.raises(RuntimeError, match="graphed with 1 tensors, and got 2"):
        graphed(x, x)
