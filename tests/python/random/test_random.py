"""Random numbers: seeds and states."""

import pytest
import torch

pytestmark = pytest.mark.any_runtime


def draw(device: int = 0) -> torch.Tensor:
    return torch.rand(8, device=f"acme:{device}").cpu()


def test_random_seeds():
    torch.acme.seed()
    first = torch.acme.initial_seed()
    torch.acme.seed_all()
    seeds = {generator.initial_seed() for generator in torch.acme.default_generators}
    assert len(seeds) == 1 and seeds != {first}


@pytest.mark.parametrize("seed", [-1, 2**63, "7", True])
def test_seeds_are_what_torch_takes(seed):
    torch.acme.manual_seed(int(seed))
    expected = torch.Generator().manual_seed(int(seed)).initial_seed()
    assert torch.acme.initial_seed() == expected


def test_a_seed_that_is_no_number_is_an_error():
    with pytest.raises((TypeError, ValueError)):
        torch.acme.manual_seed("x")
    with pytest.raises((RuntimeError, OverflowError, ValueError)):
        torch.acme.manual_seed(2**70)


def test_all_states():
    for seed, generator in enumerate(torch.acme.default_generators):
        generator.manual_seed(seed)
    states = torch.acme.get_rng_state_all()
    devices = range(torch.acme.device_count())
    assert len(states) == len(devices)
    first = [draw(device) for device in devices]
    torch.acme.set_rng_state_all(states)
    for device in devices:
        assert torch.equal(draw(device), first[device])


def test_default_generators_are_the_ones_that_operators_use():
    generators = torch.acme.default_generators
    assert isinstance(generators, tuple) and len(generators) == torch.acme.device_count()
    assert generators is torch.acme.default_generators
    assert [generator.device.index for generator in generators] == list(range(len(generators)))
    generators[0].manual_seed(11)
    assert torch.acme.initial_seed() == 11
    assert torch.acme._get_generator(torch.device("acme")) is generators[0]
    assert torch.acme._get_generator("acme:0") is generators[0]


def test_a_seed_before_the_start_holds(run_python):
    run = run_python(
        """
        import torch, torch_acme
        torch.acme.manual_seed_all(9)
        state = torch.acme.get_rng_state()
        assert not torch.acme.is_initialized()
        before = torch.rand(3, device="acme").tolist()
        torch.acme.set_rng_state(state)
        assert torch.rand(3, device="acme").tolist() == before
        """
    )
    assert run.code == 0
