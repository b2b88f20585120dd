"""Random numbers: seeds, states and generators, on each device and each again"""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..backend import Backend
from ..check import Check, Unsupported, check, variants
from ..current import current_device, need_accelerator
from ..expect import equal, on, refused, same
from ..warned import warnings_are

SEEDING = "torch/random.py: _seed_custom_device"
FORK = "torch/random.py: fork_rng"
CHECKPOINT = "torch/utils/checkpoint.py: set_device_states"
GENERATOR = "torch/include/c10/core/GeneratorImpl.h: set_current_seed"
COUNT = 1000
POWERS = [1 << bit for bit in range(20)]


def _devices(backend: Backend) -> list[torch.device]:
    """All devices; the CPU's has no index."""
    if backend.name == "cpu":
        return [torch.device("cpu")]
    return [torch.device(backend.name, index) for index in range(backend.count)]


@contextlib.contextmanager
def _numbers_are_kept(backend: Backend) -> Iterator[None]:
    """All states of random numbers are afterwards what they were."""
    devices = _devices(backend) if backend.name != "cpu" else []
    get: Any = backend.need("get_rng_state") if devices else torch.get_rng_state
    cpu, states = torch.get_rng_state(), [get(device) for device in devices]
    try:
        yield
    finally:
        torch.set_rng_state(cpu)
        for device, state in zip(devices, states, strict=True):
            backend.need("set_rng_state")(state, device)


def _draw(device: torch.device, count: int = COUNT) -> torch.Tensor:
    found = torch.rand(count, device=device)
    on(found, device)
    return found.cpu()


def _differ(left: torch.Tensor, right: torch.Tensor, what: str) -> None:
    alike = (left == right).float().mean().item()
    assert alike < 0.1, f"{what}: {alike:.0%} of the numbers are the same"


# ---- seeds


@check(called_by=SEEDING, without="no run of a program can be repeated")
def a_seed_gives_the_same_numbers(backend: Backend) -> None:
    """torch.manual_seed() seeds every device, without a warning: the same numbers again."""
    with _numbers_are_kept(backend):
        for device in _devices(backend):
            with warnings_are("error"):
                torch.manual_seed(1234)
            first = _draw(device)
            with warnings_are("error"):
                torch.manual_seed(1234)
            same(_draw(device), first, torch.device("cpu"), f"the numbers of {device}")


@check(called_by=SEEDING, without="ranks with seeds of their own draw the same masks")
def another_seed_gives_other_numbers(backend: Backend) -> None:
    """Any two seeds give two sequences, neighbouring ones too."""
    with _numbers_are_kept(backend):
        for device in _devices(backend):
            drawn = []
            for seed in (0, 1, 2, 3, 65_536, 123_456_789):
                torch.manual_seed(seed)
                drawn.append(_draw(device))
            for number, left in enumerate(drawn):
                for right in drawn[number + 1 :]:
                    _differ(left, right, f"two seeds on {device}")


@check(called_by=SEEDING, without="a layer's dropout is the same in every step")
def numbers_go_on(backend: Backend) -> None:
    """Draw after draw without a seed gives new numbers."""
    with _numbers_are_kept(backend):
        for device in _devices(backend):
            first, second, third = _draw(device), _draw(device), _draw(device)
            _differ(first, second, "two draws")
            _differ(second, third, "two draws")
            _differ(first, third, "two draws")


@check(called_by="torch/random.py: seed", without="programs that want chance repeat themselves")
def an_unseeded_run_is_not_repeated(backend: Backend) -> None:
    """torch.seed() takes another seed each time."""
    with _numbers_are_kept(backend):
        for device in _devices(backend):
            torch.seed()
            first = _draw(device)
            torch.seed()
            _differ(first, _draw(device), "after two calls of torch.seed()")


@check(called_by=SEEDING, without="a program gives other results on the second device")
def a_seed_is_of_every_device(backend: Backend) -> None:
    """The same seed gives the same numbers on each device."""
    need_accelerator(backend)
    backend.other_device  # noqa: B018 - Skipped with one device
    with _numbers_are_kept(backend):
        torch.manual_seed(99)
        first, *others = [_draw(device) for device in _devices(backend)]
        for other in others:
            same(other, first, torch.device("cpu"), "the numbers of another device")


@check(called_by=SEEDING, without="the device's numbers move the CPU's, so data loading changes")
def the_cpus_numbers_are_its_own(backend: Backend) -> None:
    """Drawing on the device leaves the CPU's generator alone, and the other way about."""
    need_accelerator(backend)
    with _numbers_are_kept(backend):
        cpu = torch.get_rng_state()
        for device in _devices(backend):
            _draw(device)
            torch.randperm(10, device=device)
            torch.nn.functional.dropout(torch.ones(10, device=device))
        assert torch.equal(torch.get_rng_state(), cpu), "the CPU's state has moved"
        states = [backend.need("get_rng_state")(device) for device in _devices(backend)]
        torch.rand(10), torch.randperm(10)
        for device, state in zip(_devices(backend), states, strict=True):
            now = backend.need("get_rng_state")(device)
            assert torch.equal(now, state), f"the state of {device} has moved"


@check(without="a program that seeds one device changes all")
def seeds_of_the_current_device(backend: Backend) -> None:
    """The module's manual_seed() seeds the current device, and manual_seed_all() each."""
    need_accelerator(backend)
    manual_seed, seed_all = backend.need("manual_seed"), backend.need("manual_seed_all")
    other = backend.other_device
    with _numbers_are_kept(backend):
        seed_all(5)
        expected = _draw(backend.device)
        same(_draw(other), expected, torch.device("cpu"), "the numbers after manual_seed_all()")
        seed_all(6)
        with current_device(backend, other):
            manual_seed(5)
        same(_draw(other), expected, torch.device("cpu"), "the numbers after manual_seed()")
        _differ(_draw(backend.device), expected, "the device that was not seeded")


@check(without="the seed in a log is not the one that was used")
def the_initial_seed_is_told(backend: Backend) -> None:
    """initial_seed() is what manual_seed() was given, whatever has been drawn since."""
    need_accelerator(backend)
    initial_seed = backend.need("initial_seed")
    with _numbers_are_kept(backend), current_device(backend, backend.device):
        for seed in (0, 1, 4321, 2**53 + 1, 2**63 - 1):
            torch.manual_seed(seed)
            _draw(backend.device)
            equal(initial_seed(), seed, "initial_seed()")


# ---- states


@check(called_by=CHECKPOINT, without="a resumed training draws other numbers than an unbroken one")
def a_state_can_be_put_back(backend: Backend) -> None:
    """set_rng_state() of an earlier state, of any moment, brings the numbers since then again."""
    need_accelerator(backend)
    get, put = backend.need("get_rng_state"), backend.need("set_rng_state")
    with _numbers_are_kept(backend):
        for device in _devices(backend):
            torch.manual_seed(3)
            for count in (1, 7, COUNT):  # a state after an odd number of numbers is one too
                _draw(device, count)
                state = get(device)
                kept = state.clone()
                expected = _draw(device), torch.randn(5, device=device).cpu()
                put(state, device)
                same(_draw(device), expected[0], torch.device("cpu"), "the numbers")
                same(torch.randn(5, device=device), expected[1], device, "the normal numbers")
                assert torch.equal(state, kept), "drawing changes a state that was taken before"


@check(called_by=CHECKPOINT, without="states cannot be saved or compared")
def a_state_is_bytes_of_the_cpu(backend: Backend) -> None:
    """A state is a one-dimensional uint8 tensor of the CPU that torch.save keeps."""
    need_accelerator(backend)
    get, put = backend.need("get_rng_state"), backend.need("set_rng_state")
    with _numbers_are_kept(backend):
        for device in _devices(backend):
            state = get(device)
            equal((state.dtype, state.device.type, state.dim()), (torch.uint8, "cpu", 1), "it")
            assert torch.equal(get(device), state), "two looks at the state differ"
            file = io.BytesIO()
            torch.save(state, file)
            file.seek(0)
            expected = _draw(device)
            put(torch.load(file), device)
            same(_draw(device), expected, torch.device("cpu"), "the numbers of a loaded state")


@check(
    called_by="torch/distributed/tensor/_random.py: OffsetBasedRNGTracker",
    without="random operators on DTensors fail an assertion",
)
def a_state_has_a_seed_and_an_offset(backend: Backend) -> None:
    """A state is 16 bytes, the seed and then the offset, and the offset grows with use."""
    need_accelerator(backend)
    get: Any = backend.need("get_rng_state")
    with _numbers_are_kept(backend):
        torch.manual_seed(4711)
        before = get(backend.device)
        if before.numel() != 16:
            raise Unsupported(f"a state has {before.numel()} bytes, not a seed and an offset of 8")
        equal(before.view(torch.int64)[0].item(), 4711, "the seed")
        _draw(backend.device)
        after = get(backend.device)
        equal(after.view(torch.int64)[0].item(), 4711, "the seed after a draw")
        offsets = before.view(torch.int64)[1].item(), after.view(torch.int64)[1].item()
        assert offsets[1] > offsets[0], f"the offset went from {offsets[0]} to {offsets[1]}"
        equal(offsets[1] % 4, 0, "the offset modulo 4, which DTensor counts in,")


@check(called_by=CHECKPOINT, without="half a state is taken, and the numbers are nobody's")
def a_wrong_state_is_refused(backend: Backend) -> None:
    """A state of another size or dtype is refused, and the one before stays."""
    need_accelerator(backend)
    get, put = backend.need("get_rng_state"), backend.need("set_rng_state")
    with _numbers_are_kept(backend):
        before = get(backend.device)
        for wrong in (torch.zeros(3, dtype=torch.uint8), torch.zeros(before.numel()), "state"):
            with refused(RuntimeError, TypeError, ValueError, what="a state that is none"):
                put(wrong, backend.device)
            assert torch.equal(get(backend.device), before), "the state has changed"


# ---- fork_rng


@check(called_by=FORK, without="evaluation in the middle of training changes the training")
def fork_rng_restores_every_device(backend: Backend) -> None:
    """After fork_rng() the numbers go on as if nothing had been drawn, after an error too."""
    need_accelerator(backend)
    devices = _devices(backend)
    indices = [device.index for device in devices]
    with _numbers_are_kept(backend):
        for device in devices:
            torch.manual_seed(8)
            expected = _draw(device)
            torch.manual_seed(8)
            with torch.random.fork_rng(devices=indices, device_type=backend.name):
                torch.manual_seed(9)
                _differ(_draw(device), expected, "the numbers inside")
            same(_draw(device), expected, torch.device("cpu"), "the numbers afterwards")
            torch.manual_seed(8)
            with refused(LookupError, what="an error inside"):
                with torch.random.fork_rng(devices=[device], device_type=backend.name):
                    _draw(device)
                    raise LookupError
            same(_draw(device), expected, torch.device("cpu"), "the numbers after an error")


@check(called_by=FORK, without="a bare fork_rng() raises once the backend is there")
def fork_rng_needs_no_arguments(backend: Backend) -> None:
    """fork_rng(device_type=...) restores all devices where none is named."""
    need_accelerator(backend)
    with _numbers_are_kept(backend), warnings_are("ignore"):
        for device in _devices(backend):
            torch.manual_seed(8)
            expected = _draw(device)
            torch.manual_seed(8)
            with torch.random.fork_rng(device_type=backend.name):
                _draw(device)
            same(_draw(device), expected, torch.device("cpu"), f"the numbers of {device}")


@check(
    called_by="torch/utils/checkpoint.py: get_device_states",
    without="checkpointing gives wrong gradients wherever there is dropout",
)
def checkpointing_replays_dropout(backend: Backend) -> None:
    """Checkpointing recomputes the dropout of the forward pass: the gradient is of its mask."""
    for device, reentrant in itertools.product(_devices(backend), (False, True)):
        with _numbers_are_kept(backend):
            leaf = torch.ones(COUNT, device=device, requires_grad=True)
            out = torch.utils.checkpoint.checkpoint(
                lambda x: torch.nn.functional.dropout(x, 0.5), leaf, use_reentrant=reentrant
            )
            torch.rand(10, device=leaf.device)
            out.sum().backward()
            same(leaf.grad, out.detach().cpu(), leaf.device, "the gradient")


# ---- generators


@check(called_by=GENERATOR, without="a generator of one's own cannot be repeated")
def generators_repeat_themselves(backend: Backend) -> None:
    """A generator gives the same numbers for the same seed, and leaves the default one alone."""
    for device in _devices(backend):
        with _numbers_are_kept(backend):
            generator = torch.Generator(device)
            equal(generator.device, device, "the generator's device")
            torch.manual_seed(1)
            default = _draw(device)
            torch.manual_seed(1)
            drawn = torch.rand(COUNT, device=device, generator=generator.manual_seed(77)).cpu()
            again = torch.rand(COUNT, device=device, generator=generator.manual_seed(77))
            same(again, drawn, device, "the numbers of the same seed")
            further = torch.rand(COUNT, device=device, generator=generator).cpu()
            _differ(further, drawn, "two draws of a generator")
            equal(generator.initial_seed(), 77, "initial_seed()")
            same(_draw(device), default, torch.device("cpu"), "the default generator's numbers")


@check(called_by=GENERATOR, without="generators cannot be saved, copied or forked")
def generators_can_be_copied(backend: Backend) -> None:
    """A state, a clone, a pickle and a deep copy of a generator give its next numbers."""
    device = _devices(backend)[-1]
    generator = torch.Generator(device).manual_seed(5)
    torch.rand(13, device=device, generator=generator)
    state = generator.get_state()
    stated = torch.Generator(device)
    stated.set_state(state)
    copies = {
        "a state": stated,
        "clone_state()": generator.clone_state(),
        "a pickle": pickle.loads(pickle.dumps(generator)),
        "a deep copy": copy.deepcopy(generator),
    }
    expected = torch.rand(COUNT, device=device, generator=generator).cpu()
    for name, other in copies.items():
        equal(other.device, device, f"the device of {name}")
        found = torch.rand(COUNT, device=device, generator=other)
        same(found, expected, device, f"the numbers of {name}")


@check(called_by=GENERATOR, without="compiled code and DTensor cannot move on in the sequence")
def the_offset_says_where_it_is(backend: Backend) -> None:
    """get_offset() grows with each draw, and set_offset() brings the numbers from there."""
    need_accelerator(backend)
    device = backend.device
    generator = torch.Generator(device).manual_seed(5)
    try:
        equal(generator.get_offset(), 0, "the offset after a seed")
    except RuntimeError as error:
        raise Unsupported(f"get_offset() says: {error}") from error
    torch.rand(COUNT, device=device, generator=generator)
    offset = generator.get_offset()
    assert offset > 0, f"the offset after {COUNT} numbers is {offset}"
    expected = torch.rand(COUNT, device=device, generator=generator).cpu()
    generator.set_offset(offset)
    equal(generator.get_offset(), offset, "the offset that was set")
    same(torch.rand(COUNT, device=device, generator=generator), expected, device)
    fresh = torch.Generator(device).manual_seed(5)
    fresh.set_offset(offset)
    same(torch.rand(COUNT, device=device, generator=fresh), expected, device, "another's numbers")


@check(called_by=GENERATOR, without="numbers come from a generator that nobody seeded")
def generators_of_other_devices_are_refused(backend: Backend) -> None:
    """An operator refuses a generator of the CPU and of another device, and the CPU one of the
    device."""
    need_accelerator(backend)
    calls = {
        "rand": lambda d, g: torch.rand(3, device=d, generator=g),
        "randn": lambda d, g: torch.randn(3, device=d, generator=g),
        "normal_": lambda d, g: torch.empty(3, device=d).normal_(generator=g),
        "bernoulli": lambda d, g: torch.bernoulli(torch.ones(3, device=d), generator=g),
        "randint": lambda d, g: torch.randint(9, (3,), device=d, generator=g),
        "multinomial": lambda d, g: torch.multinomial(torch.ones(3, device=d), 1, generator=g),
    }
    cpu = torch.device("cpu")
    pairs = [(backend.device, cpu), (cpu, backend.device)]
    pairs += [(backend.device, backend.other_device)] if backend.count > 1 else []
    for name, call in calls.items():
        for device, other in pairs:
            with refused(RuntimeError, what=f"{name} on {device} with a generator of {other}"):
                call(device, torch.Generator(other))


# ---- operators


def _numbers_of(bits: torch.Tensor) -> torch.Tensor:
    """Whole numbers of 20 draws each, all zeros or not, so that two of them are seldom the same."""
    return ((bits != 0).view(-1, 20) * torch.tensor(POWERS, device=bits.device)).sum(1)


def _halves(device: torch.device) -> torch.Tensor:
    return torch.full((20 * COUNT,), 0.5, device=device)


OPERATORS: dict[str, Callable[[torch.device], torch.Tensor]] = {
    "rand": lambda d: torch.rand(COUNT, device=d),
    "randn": lambda d: torch.randn(COUNT, device=d),
    "randint": lambda d: torch.randint(1 << 30, (COUNT,), device=d),
    "randperm": lambda d: torch.randperm(COUNT, device=d),
    "rand_like": lambda d: torch.rand_like(torch.empty(COUNT, device=d)),
    "uniform_": lambda d: torch.empty(COUNT, device=d).uniform_(-1, 1),
    "normal_": lambda d: torch.empty(COUNT, device=d).normal_(3, 2),
    "normal": lambda d: torch.normal(torch.zeros(COUNT, device=d), 1.0),
    "bernoulli": lambda d: _numbers_of(torch.bernoulli(_halves(d))),
    "bernoulli_": lambda d: _numbers_of(_halves(d).bernoulli_(0.5)),
    "dropout": lambda d: _numbers_of(torch.nn.functional.dropout(_halves(d))),
    "exponential_": lambda d: torch.empty(COUNT, device=d).exponential_(),
    "random_": lambda d: torch.empty(COUNT, device=d, dtype=torch.int64).random_(),
    "multinomial": lambda d: torch.multinomial(torch.ones(2 * COUNT, device=d), COUNT),
    "poisson": lambda d: torch.poisson(torch.full((COUNT,), 1000.0, device=d)),
    "kaiming_uniform_": lambda d: torch.nn.init.kaiming_uniform_(torch.empty(50, 20, device=d)),
    "rrelu": lambda d: torch.nn.functional.rrelu(-torch.ones(COUNT, device=d), training=True),
    "rand of float64": lambda d: torch.rand(COUNT, device=d, dtype=torch.float64),
}


def operators_repeat_themselves(backend: Backend, call: Callable) -> None:
    """A random operator gives the same for the same seed, and something else the next time."""
    for device in _devices(backend):
        with _numbers_are_kept(backend):
            torch.manual_seed(42)
            first, second = call(device), call(device)
            on(first, device)
            torch.manual_seed(42)
            same(call(device), first.cpu(), device, "the first call after the same seed")
            same(call(device), second.cpu(), device, "the second call after the same seed")
            _differ(first.cpu(), second.cpu(), "two calls")


REPEATED: list[Check] = variants(
    Check(
        operators_repeat_themselves,
        called_by=SEEDING,
        without="a training with this operator cannot be repeated",
    ),
    operators_repeat_themselves,
    {name: (call,) for name, call in OPERATORS.items()},
)


@check(called_by=GENERATOR, without="weights and noise have another size than asked for")
def numbers_have_their_distribution(backend: Backend) -> None:
    """Uniform numbers are in [0, 1), normal ones have their mean and deviation, integers all
    values, and permutations each index once."""
    device = _devices(backend)[0]
    with _numbers_are_kept(backend):
        torch.manual_seed(0)
        uniform = torch.rand(10_000, device=device).cpu()
        assert 0 <= uniform.min() < 0.01 and 0.99 < uniform.max() < 1, "rand() is not in [0, 1)"
        assert abs(uniform.mean() - 0.5) < 0.02, f"the mean of rand() is {uniform.mean()}"
        normal = torch.empty(10_000, device=device).normal_(3, 2).cpu()
        assert abs(normal.mean() - 3) < 0.1, f"the mean of normal_(3, 2) is {normal.mean()}"
        assert abs(normal.std() - 2) < 0.1, f"the deviation of normal_(3, 2) is {normal.std()}"
        integers = torch.randint(-3, 4, (1000,), device=device).cpu()
        equal(sorted(set(integers.tolist())), list(range(-3, 4)), "the values of randint(-3, 4)")
        order = torch.randperm(100, device=device).cpu()
        equal(sorted(order.tolist()), list(range(100)), "the values of randperm(100)")
        mask = torch.nn.functional.dropout(torch.ones(10_000, device=device), 0.25).cpu()
        equal(sorted(set(mask.tolist())), [0.0, torch.tensor(1 / 0.75).item()], "dropout's values")
        kept = (mask != 0).float().mean()
        assert abs(kept - 0.75) < 0.03, f"dropout(0.25) keeps {kept:.0%}"


@check(called_by=GENERATOR, without="noise and weights have a pattern that a model can learn")
def large_tensors_do_not_repeat_numbers(backend: Backend) -> None:
    """Of the numbers of one large tensor no three in a row come again."""
    device = _devices(backend)[0]
    with _numbers_are_kept(backend):
        torch.manual_seed(0)
        for name, draw in {"rand": torch.rand, "randn": torch.randn}.items():
            bits = draw(600_000, device=device).cpu().view(torch.int32).long()
            # Of 64 bits: that two of them meet by chance is as good as impossible.
            threes = bits[:-2] * 0x1E3779B97F4A7C15 + bits[1:-1] * 0x3F58476D1CE4E5B9 + bits[2:]
            again = len(threes) - len(threes.unique())
            assert again == 0, f"{again} of the numbers of {name}(600_000) come again"
