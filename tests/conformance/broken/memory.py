"""Memory and its statistics."""

from __future__ import annotations

import torch

from .defect import defect
from .kernels import replace


@defect("?", "?", blind=True)
def sums_are_never_freed() -> None:
    """Every result of add is kept for ever."""
    kept = []

    @replace("add.Tensor")
    def _(add, x, y, *, alpha=1):
        kept.append(add(x, y, alpha=alpha))
        return kept[-1].view(kept[-1].shape)


@defect("?", "?", blind=True)
def free_and_total_are_swapped() -> None:
    """mem_get_info says the total first."""
    was = torch.acme.mem_get_info
    torch.acme.mem_get_info = lambda device=None: was(device)[::-1]
