"""Keeps torch.nn off its fast paths of attention under the device's autocast."""

import functools

import torch
from torch.backends import mha

from . import name


def register() -> None:
    """MultiheadAttention, TransformerEncoderLayer and TransformerEncoder run their parts one by one
    under autocast, each in the dtype that its rule says. They ask for CUDA's autocast alone, but
    also whether the fast paths are allowed: no, where autocast is on for the device."""
    are_allowed = mha.get_fastpath_enabled

    @functools.wraps(are_allowed)
    def get_fastpath_enabled() -> bool:
        # TorchScript compiles the text of the function that this one wraps. Dynamo does not trace a
        # call of it from here, but reads the variable.
        return mha._is_fastpath_enabled and not torch.is_autocast_enabled(name)

    mha.get_fastpath_enabled = get_fastpath_enabled
