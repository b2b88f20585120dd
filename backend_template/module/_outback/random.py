"""torch.<name>.manual_seed and its kin. A generator is a pair of numbers on the host, so seeding it
starts nothing. torch.cuda has to queue these calls until the device is started; here they run at
once.
"""

from collections.abc import Iterable
from typing import Any

import torch

from . import _native, device_module


def _get_generator(device: Any) -> torch.Generator:
    index: int = device_module._normalize_device(device)
    return _native.default_generators()[index]


def manual_seed(seed: Any) -> None:
    """Seeds the current device's generator. Ignored without a device."""
    if device_module.device_count() > 0:
        _get_generator(None).manual_seed(int(seed))


def manual_seed_all(seed: Any) -> None:
    """Seeds all devices' generators, also of devices that come up later."""
    # What a seed is, a negative one too, is for torch.Generator to say.
    number = torch.Generator().manual_seed(int(seed)).initial_seed()
    _native.seed_default_generators(number)


def seed() -> None:
    """Gives the current device's generator a random seed."""
    if device_module.device_count() > 0:
        _get_generator(None).seed()


def seed_all() -> None:
    """Gives all devices' generators one random seed."""
    if device_module.device_count() > 0:
        first = _get_generator(0)
        first.seed()
        manual_seed_all(first.initial_seed())


def initial_seed() -> int:
    """The current device's seed."""
    return _get_generator(None).initial_seed()


def get_rng_state(device: Any = None) -> torch.Tensor:
    """The state of a device's generator: 16 bytes on the CPU."""
    return _get_generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = None) -> None:
    """Sets the state of a device's generator."""
    _get_generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices' generators."""
    return [generator.get_state() for generator in _native.default_generators()]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states of all devices' generators."""
    for device, state in enumerate(new_states):
        set_rng_state(state, device)


PUBLIC = (
    *(get_rng_state, get_rng_state_all, set_rng_state, set_rng_state_all),
    *(manual_seed, manual_seed_all, seed, seed_all, initial_seed),
)
