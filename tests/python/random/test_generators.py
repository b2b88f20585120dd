"""torch.Generator of a device: positions, copies, and what two of them share."""

import pytest
import torch

pytestmark = pytest.mark.any_runtime


def draw(generator: torch.Generator, count: int = 4) -> list[float]:
    return torch.rand(count, device=generator.device, generator=generator).tolist()


@pytest.mark.parametrize("device", ["acme", "acme:0", torch.device("acme", 0)])
def test_a_generator_is_on_its_device(device):
    generator = torch.Generator(device)
    assert generator.device == torch.device("acme", 0)
    assert generator.initial_seed() == torch.Generator().initial_seed()


@pytest.mark.parametrize("offset", [1, 2, 3, 6])
def test_an_offset_is_a_multiple_of_four(offset):
    generator = torch.Generator("acme").manual_seed(5)
    with pytest.raises(RuntimeError, match=f"multiple of 4, got {offset}"):
        generator.set_offset(offset)
    assert generator.get_offset() == 0


def test_a_seed_starts_over():
    generator = torch.Generator("acme").manual_seed(5)
    draw(generator)
    generator.manual_seed(5)
    assert generator.get_offset() == 0
    assert generator.seed() == generator.initial_seed()
    assert generator.get_offset() == 0


def test_a_graph_safe_state_is_shared():
    """As torch.cuda's: who sets it draws on behalf of both."""
    generator, other = (torch.Generator("acme").manual_seed(seed) for seed in (5, 6))
    shared = generator.graphsafe_get_state()
    first = draw(generator)
    assert shared.get_offset() == generator.get_offset() > 0

    before = other.graphsafe_get_state()
    other.graphsafe_set_state(shared)
    assert other.initial_seed() == 5
    draw(other)
    assert generator.get_offset() == other.get_offset()
    other.graphsafe_set_state(before)
    assert (other.initial_seed(), other.get_offset()) == (6, 0)
    generator.set_offset(0)
    assert draw(generator) == first


def test_a_graph_safe_clone_is_not_shared():
    generator = torch.Generator("acme").manual_seed(5)
    kept = generator.clone_state()
    first = draw(generator)
    assert kept.get_offset() == 0
    generator.graphsafe_set_state(kept)
    assert draw(generator) == first


def test_a_graph_safe_state_of_another_device_type_is_refused():
    with pytest.raises(RuntimeError, match="acme"):
        torch.Generator("acme").graphsafe_set_state(torch.Generator())


def test_compiled_programs_replay_random_numbers_by_swapping_states():
    """What torch._prims.rng_prims.graphsafe_run_with_rng_state does around an operator."""
    default = torch.acme.default_generators[0]
    default.manual_seed(1)
    replayed = torch.Generator("acme").manual_seed(9)
    current = default.graphsafe_get_state()
    default.graphsafe_set_state(replayed)
    drawn = torch.rand(4, device="acme").tolist()
    default.graphsafe_set_state(current)
    assert (default.initial_seed(), default.get_offset()) == (1, 0)
    assert replayed.get_offset() > 0, "the replayed state has not moved on"
    assert draw(replayed.manual_seed(9)) == drawn
