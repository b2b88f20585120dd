"""Generators and what draws from them."""

from __future__ import annotations

import torch

from .defect import defect
from .kernels import replace


@defect("?", "?", blind=True)
def normal_ignores_the_seed() -> None:
    """normal_ draws from the machine's own source instead of the generator."""

    @replace("normal_")
    def _(normal_, x, mean=0.0, std=1.0, *, generator=None):
        fresh = torch.Generator(x.device)
        fresh.seed()
        return normal_(x, mean, std, generator=fresh)


@defect("?", "?", blind=True)
def state_is_not_restored() -> None:
    """set_rng_state leaves the generator as it is."""
    torch.acme.set_rng_state = lambda new_state, device="acme": None
    torch.acme.random.set_rng_state = torch.acme.set_rng_state
