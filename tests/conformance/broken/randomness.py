"""Generators and what draws from them."""

from __future__ import annotations

import torch

from .defect import defect
from .kernels import replace


@defect("rng", "operators_repeat_themselves[randn]", says="after the same seed", blind=True)
def normal_ignores_the_seed() -> None:
    """normal_ draws from the machine's own source instead of the generator."""

    @replace("normal_")
    def _(normal_, x, mean=0.0, std=1.0, *, generator=None):
        fresh = torch.Generator(x.device)
        fresh.seed()
        return normal_(x, mean, std, generator=fresh)


@defect("rng", "a_state_can_be_put_back", blind=True)
def state_is_not_restored() -> None:
    """set_rng_state leaves the generator as it is."""
    torch.acme.set_rng_state = lambda new_state, device="acme": None
    torch.acme.random.set_rng_state = torch.acme.set_rng_state


@defect("rng", "numbers_have_their_distribution", says="dropout's values")
def bernoulli_fills_ones() -> None:
    """bernoulli_ does not draw, all is 1."""
    for overload in ("float", "Tensor"):

        @replace(f"bernoulli_.{overload}")
        def _(bernoulli_, x, p=0.5, *, generator=None):
            return x.fill_(1)


@defect("rng", "numbers_go_on", says="are the same")
def uniform_does_not_go_on() -> None:
    """Each uniform_ begins where the one before began."""

    @replace("uniform_")
    def _(uniform_, x, low=0.0, high=1.0, *, generator=None):
        used = generator or torch.acme.default_generators[x.device.index]
        state = used.get_state()
        uniform_(x, low, high, generator=used)
        used.set_state(state)
        return x


@defect("rng", "a_seed_is_of_every_device", says="another device")
def one_device_is_seeded() -> None:
    """manual_seed_all() seeds the current device only."""
    torch.acme.manual_seed_all = torch.acme.manual_seed


@defect("rng", "another_seed_gives_other_numbers")
def seeds_are_rounded() -> None:
    """manual_seed() takes the seed's lowest 8 bits."""
    for name in ("manual_seed", "manual_seed_all"):
        was = getattr(torch.acme, name)
        setattr(torch.acme, name, lambda seed, was=was: was(seed & 255))
