"""Module.<name>(), by way of Module._apply, which calls a function with each of its tensors."""

from typing import Any

import torch
from torch.nn.parameter import is_lazy

from . import _native, name


def _check_dtypes(module: torch.nn.Module) -> None:
    """Refuses unsupported dtypes before anything moves: a module of which one half has moved is
    useless."""
    for tensors in (module.named_parameters(), module.named_buffers()):
        for each, tensor in tensors:
            if not _native.supports(tensor.dtype):
                raise TypeError(
                    f'cannot move the module: "{each}" is {tensor.dtype}, a dtype that {name} does '
                    "not support; convert the module first, for example with .float()"
                )


def move(module: torch.nn.Module, device: torch.device) -> Any:
    """Calls the tensors' Python method, so that subclasses of Tensor and modes see the call."""
    if not _native.supports_all():
        _check_dtypes(module)
    future = torch.__future__
    makes_others = (
        future.get_overwrite_module_params_on_conversion()
        or future.get_swap_module_params_on_conversion()
    )

    def to_device(tensor: Any) -> Any:
        # These two ways of Module._apply cannot tell a parameter whose shape is not known yet from
        # an empty one; returned unmoved, it is refused by Module._apply with its own message.
        if makes_others and is_lazy(tensor):
            return tensor
        return getattr(tensor, name)(device)

    return module._apply(to_device)
