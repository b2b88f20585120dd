"""RNNs' weights in one piece of memory, as cuDNN reads them, on a device with cuDNN's kernels.
torch asks each weight whether it is CUDA's. Otherwise cuDNN would copy them together in every call.
"""

import functools
from typing import Any

import torch
from torch.nn.modules.rnn import RNNBase

from . import device_module, name, twin


def _is_lent(weight: Any) -> bool:
    """A tensor with memory that torch.cuda's kernels reach."""
    if type(weight) not in (torch.Tensor, torch.nn.Parameter) or weight.device.type != name:
        return False
    own = twin.of(weight.device.index)
    return own is not None and own.type == "cuda" and not torch._is_functional_tensor(weight)


def register() -> None:
    if torch.version.cuda is None:
        return
    flatten = RNNBase.flatten_parameters

    @functools.wraps(flatten)
    def flatten_parameters(self: Any) -> None:
        weights = self._flat_weights
        if not weights or not all(map(_is_lent, weights)):
            return flatten(self)
        lent = [device_module.as_cuda(weight.detach()) for weight in weights]
        self._flat_weights = lent
        try:
            flatten(self)
        finally:
            self._flat_weights = weights
        for weight, moved in zip(weights, lent, strict=True):
            if moved.data_ptr() != weight.data_ptr():
                weight.data = device_module.from_cuda(moved)

    setattr(RNNBase, flatten.__name__, flatten_parameters)
