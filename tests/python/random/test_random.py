"""Random numbers: seeds and states."""

import pickle

import pytest
import torch

pytestmark = pytest.mark.any_runtime


def draw(device: int = 0) -> torch.Tensor:
    return torch.rand(8, device=f"acme:{device}").cpu()


@pytest.mark.parametrize(
    "seed", [torch.manual_seed, torch.acme.manual_seed_all, torch.acme.manual_seed]
)
def test_the_same_seed_draws_the_same_numbers(seed):
    seed(7)
    first, second = draw(), draw()
    assert not torch.equal(first, second)
    seed(7)
    assert torch.equal(draw(), first) and torch.equal(draw(), second)
    seed(8)
    assert not torch.equal(draw(), first)
    assert torch.acme.initial_seed() == 8


def test_torch_manual_seed_warns_of_nothing(recwarn):
    torch.manual_seed(3)
    assert not recwarn.list
    assert torch.acme.initial_seed() == 3


def test_devices_draw_for_themselves(two_devices):
    torch.acme.manual_seed_all(5)
    draw(0)
    torch.acme.set_device(1)
    torch.acme.manual_seed(6)
    assert [g.initial_seed() for g in torch.acme.default_generators] == [
        6 if g.device.index == 1 else 5 for g in torch.acme.default_generators
    ]


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


def test_the_state_is_seed_and_offset():
    torch.acme.manual_seed(258)
    state = torch.acme.get_rng_state()
    assert state.dtype == torch.uint8 and state.device.type == "cpu"
    assert state.tolist() == [2, 1] + [0] * 14
    draw()
    assert torch.acme.get_rng_state().tolist()[:8] == state.tolist()[:8]
    assert torch.acme.get_rng_state().tolist()[8:] != [0] * 8


@pytest.mark.parametrize("device", [None, 0, "acme", "acme:0", torch.device("acme", 0)])
def test_a_state_can_be_kept_and_restored(device):
    state = torch.acme.get_rng_state(device)
    first = draw()
    torch.acme.set_rng_state(state, device)
    assert torch.equal(draw(), first)


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


@pytest.mark.parametrize("state", [torch.zeros(3, dtype=torch.uint8), torch.zeros(16), "state"])
def test_a_wrong_state_is_refused(state):
    before = torch.acme.get_rng_state()
    with pytest.raises((TypeError, RuntimeError)):
        torch.acme.set_rng_state(state)
    assert torch.equal(torch.acme.get_rng_state(), before)


def test_default_generators_are_the_ones_that_operators_use():
    generators = torch.acme.default_generators
    assert isinstance(generators, tuple) and len(generators) == torch.acme.device_count()
    assert generators is torch.acme.default_generators
    assert [generator.device.index for generator in generators] == list(range(len(generators)))
    generators[0].manual_seed(11)
    assert torch.acme.initial_seed() == 11
    assert torch.acme._get_generator(torch.device("acme")) is generators[0]
    assert torch.acme._get_generator("acme:0") is generators[0]


def test_a_generator_of_ones_own():
    generator = torch.Generator("acme").manual_seed(1)
    before = torch.acme.get_rng_state()
    first = torch.rand(4, device="acme", generator=generator)
    assert torch.equal(torch.acme.get_rng_state(), before)
    generator.manual_seed(1)
    assert torch.equal(torch.rand(4, device="acme", generator=generator), first)
    again = pickle.loads(pickle.dumps(generator))
    assert again.device == generator.device
    assert torch.equal(again.get_state(), generator.get_state())


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
