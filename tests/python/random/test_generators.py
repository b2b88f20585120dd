"""torch.Generator of a device: positions, copies, and what two of them share."""

import copy
import pickle

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


def test_a_generator_of_another_device(two_devices):
    generator = torch.Generator("acme:1")
    assert generator.device == torch.device("acme", 1)
    assert draw(generator.manual_seed(3)) == draw(torch.Generator("acme:0").manual_seed(3))
    with torch.acme.device(1):
        assert torch.Generator("acme").device.index == 1


def test_offsets_are_positions():
    generator = torch.Generator("acme").manual_seed(5)
    assert generator.get_offset() == 0
    first = draw(generator)
    offset = generator.get_offset()
    assert offset > 0 and offset % 4 == 0
    second = draw(generator)
    generator.set_offset(offset)
    assert draw(generator) == second
    generator.set_offset(0)
    assert draw(generator) == first
    assert generator.initial_seed() == 5


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


@pytest.mark.parametrize(
    "clone",
    [
        lambda generator: generator.clone_state(),
        copy.deepcopy,
        lambda generator: pickle.loads(pickle.dumps(generator)),
    ],
    ids=["clone_state", "deepcopy", "pickle"],
)
def test_a_copy_goes_on_alone_from_the_same_place(clone):
    generator = torch.Generator("acme").manual_seed(5)
    draw(generator)
    other = clone(generator)
    assert other is not generator and other.device == generator.device
    assert (other.initial_seed(), other.get_offset()) == (5, generator.get_offset())
    assert draw(other) == draw(generator)
    draw(other)
    assert other.get_offset() != generator.get_offset()


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


def test_the_default_generators_can_be_given(two_devices):
    torch.acme.manual_seed_all(5)
    default = torch.acme.default_generators[1]
    first = draw(default)
    default.manual_seed(5)
    assert torch.rand(4, device="acme:1").tolist() == first


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
