"""Random numbers in graphs: new ones in each replay, and the same as without the graph."""

import pytest
import torch

acme = torch.acme
pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.usefixtures("records"),
]


def draw(x):
    return torch.cat(
        [torch.rand(5, device="acme"), torch.randn(5, device="acme"), x.clone().uniform_()]
    )


def test_replays_draw_what_the_calls_would():
    x = torch.zeros(7, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        numbers = draw(x)
    acme.manual_seed(42)
    expected = [draw(x) for _ in range(3)]
    after = acme.get_rng_state()
    acme.manual_seed(42)
    seen = []
    for _ in range(3):
        graph.replay()
        seen.append(numbers.clone())
    assert all(torch.equal(a, b) for a, b in zip(expected, seen, strict=True))
    assert torch.equal(acme.get_rng_state(), after)
    assert not torch.equal(seen[0], seen[1])


def test_replays_and_calls_take_turns():
    x = torch.zeros(7, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        numbers = draw(x)
    acme.manual_seed(1)
    expected = [draw(x) for _ in range(4)]
    acme.manual_seed(1)
    for i in (0, 2):
        graph.replay()
        assert torch.equal(numbers, expected[i])
        assert torch.equal(draw(x), expected[i + 1])


def test_a_generator_of_ones_own_goes_on_with_each_replay():
    mine = torch.Generator("acme").manual_seed(5)
    graph = acme.CUDAGraph()
    graph.register_generator_state(mine)
    with acme.graph(graph):
        numbers = torch.rand(9, device="acme", generator=mine)
    graph.replay()
    first = numbers.clone()
    graph.replay()
    again = torch.Generator("acme").manual_seed(5)
    assert torch.equal(first, torch.rand(9, device="acme", generator=again))
    assert torch.equal(numbers, torch.rand(9, device="acme", generator=again))
    with pytest.raises(ValueError, match="expected a generator of acme, got one of cpu"):
        graph.register_generator_state(torch.Generator())


def test_dropout_drops_others_in_each_replay():
    x = torch.ones(1000, device="acme", requires_grad=True)
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = torch.nn.functional.dropout(x, 0.5)
        (gradient,) = torch.autograd.grad(y.sum(), x)
    seen = []
    for _ in range(2):
        graph.replay()
        assert torch.equal(gradient, y.detach())
        seen.append(y.detach().clone())
    assert not torch.equal(*seen)


def test_seeding_inside_a_capture_is_refused():
    with pytest.raises(RuntimeError, match="was seeded, or its state was set"):
        with acme.graph(acme.CUDAGraph()):
            torch.rand(3, device="acme")
            acme.manual_seed(1)
            torch.rand(3, device="acme")
