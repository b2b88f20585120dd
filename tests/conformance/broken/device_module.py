"""The device module, torch.acme."""

from __future__ import annotations

import torch

from .defect import defect


@defect("?", "?", blind=True)
def fork_is_not_noticed() -> None:
    """A child of a fork uses the device that its parent has initialized."""
    torch.acme._is_in_bad_fork = lambda: False
