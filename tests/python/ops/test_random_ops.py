"""Random operators draw from the device's generator, never from the CPU's."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

DRAWS = {
    "rand": lambda: torch.rand(16, device="acme"),
    "randn": lambda: torch.randn(16, device="acme"),
    "randint": lambda: torch.randint(0, 1000, (16,), device="acme"),
    "randperm": lambda: torch.randperm(64, device="acme"),
    "bernoulli": lambda: torch.full((64,), 0.5, device="acme").bernoulli(),
    "bernoulli_": lambda: torch.empty(64, device="acme").bernoulli_(0.5),
    "multinomial": lambda: torch.ones(64, device="acme").multinomial(8),
    "normal": lambda: torch.normal(torch.zeros(16, device="acme"), 1.0),
    "exponential_": lambda: torch.empty(16, device="acme").exponential_(),
    "dropout": lambda: torch.nn.functional.dropout(torch.ones(64, device="acme")),
    "rrelu": lambda: torch.nn.functional.rrelu(-torch.ones(16, device="acme"), training=True),
    "poisson": lambda: torch.poisson(torch.full((16,), 50.0, device="acme")),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_devices_seed_decides(draw):
    state = torch.get_rng_state()
    torch.acme.manual_seed(1)
    first, second = draw(), draw()
    torch.acme.manual_seed(1)
    assert torch.equal(draw(), first) and torch.equal(draw(), second)
    assert not torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), state), "the CPU's generator has moved"


def test_generators_can_be_given():
    a, b = torch.Generator("acme").manual_seed(5), torch.Generator("acme").manual_seed(5)
    state = torch.acme.get_rng_state()
    x = torch.rand(8, device="acme", generator=a)
    assert torch.equal(x, torch.rand(8, device="acme", generator=b))
    assert not torch.equal(x, torch.rand(8, device="acme", generator=a))
    assert torch.equal(torch.acme.get_rng_state(), state)
    torch.randperm(9, device="acme", generator=a)


def test_a_generator_of_another_device_is_refused(two_devices):
    with pytest.raises(RuntimeError, match="generator"):
        torch.rand(3, device="acme", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="generator"):
        torch.rand(3, device="acme", generator=torch.Generator("acme:1"))


def test_dropout_scales_what_it_keeps():
    x = torch.ones(4000, device="acme", requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    kept = y.detach() != 0
    assert 0.7 < kept.float().mean().item() < 0.8
    torch.testing.assert_close(y[kept], torch.full_like(y[kept], 4 / 3))
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
