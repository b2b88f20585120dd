"""PackedSequence.<name>(), made like PackedSequence.cuda (torch/nn/utils/rnn.py)."""

from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from . import device_module, name

_OF_NUMBERS = ("__index__", "__int__", "__float__", "__complex__")


def _as_torch_device(argument: Any) -> Any:
    """A device argument (text, a number or a torch.device) as a torch.device of this backend, since
    Tensor.to would read a number differently. Other arguments, such as dtypes and tensors, are
    returned as they are: Tensor.to reads them."""
    is_number = any(hasattr(argument, each) for each in _OF_NUMBERS)
    if isinstance(argument, torch.Tensor) or not (
        is_number or isinstance(argument, (str, torch.device))
    ):
        return argument
    return torch.device(name, device_module._normalize_device(argument))


def _with_device(arguments: list[Any]) -> list[Any]:
    """Puts a device before arguments of Tensor.to that name none. Behind a device, Tensor.to takes
    a dtype but no tensor, so a tensor becomes its dtype."""
    rest = arguments[1:] if arguments and arguments[0] is None else arguments
    return [name, *(it.dtype if isinstance(it, torch.Tensor) else it for it in rest)]


def move(sequence: PackedSequence, *given: Any, **named: Any) -> Any:
    """If the arguments name no device, a sequence goes to the backend's current device, and one
    that is on any device of the backend stays there, as with PackedSequence.cuda."""
    arguments = list(given)
    if arguments:
        arguments[0] = _as_torch_device(arguments[0])
    if "device" in named:
        named["device"] = _as_torch_device(named["device"])
    data = sequence.data
    # Asks Tensor.to where it would move the data, with a tensor of no elements. It raises an error
    # for arguments that it does not know.
    empty = torch.empty(0, dtype=data.dtype, device=data.device)
    device = empty.to(*arguments, **named).device
    if device.type != name:
        if device != data.device:
            raise ValueError(f'expected a device of type {name}, got "{device}"')
        if "device" in named:  # device=None
            named["device"] = name
        else:
            arguments = _with_device(arguments)
    return sequence.to(*arguments, **named)
