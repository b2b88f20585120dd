"""What PyTorch says of a result that it does not compute, in torch.compile, torch.export and
FakeTensorMode. Strides and dtypes turn on the kernels there, and PyTorch knows whose kernels a
device has by its name: for ours they are the CPU's, or those of the twin.
"""

from collections.abc import Callable
from typing import Any

import torch

# torch has imported these itself.
from torch import _meta_registrations
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager
from torch.utils import _pytree

from .. import _native, device_module, name, twin

_aten = torch.ops.aten
# Their memory format follows from the library that computes them.
_CONVOLUTIONS = (
    _aten.convolution.default,
    _aten._convolution.default,
    _aten._convolution.deprecated,
    _aten.convolution_backward.default,
)


def _has_kernels_of(device: torch.device) -> torch.device:
    """PyTorch's own device whose kernels compute for a device of ours."""
    index = device.index or 0
    if _native.may_have_twins() and index < device_module.device_count():
        return twin.of(index) or torch.device("cpu")
    return torch.device("cpu")


def _hinting(theirs: Callable[[Any], str]) -> Callable[[Any], str]:
    def device_hint(tensor: Any) -> str:
        hint = theirs(tensor)
        if hint != name:
            return hint
        device = tensor.fake_device if isinstance(tensor, FakeTensor) else tensor.device
        return _has_kernels_of(device).type

    return device_hint


def _of_kernels(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Asks `theirs` with tensors on the device whose kernels ours has."""

    def answer(mode: FakeTensorMode, operator: Any, *args: Any, **named: Any) -> Any:
        leaves = _pytree.tree_leaves((args, named))
        devices = {leaf.fake_device for leaf in leaves if isinstance(leaf, FakeTensor)}
        ours = next((device for device in devices if device.type == name), None)
        if ours is None:
            return theirs(mode, operator, *args, **named)
        kernels = _has_kernels_of(ours)

        def move(source: torch.device, target: torch.device, values: Any) -> Any:
            """A new tensor, since its dispatch keys are its device's."""

            def moved(tensor: FakeTensor) -> FakeTensor:
                if tensor.fake_device != source:
                    return tensor
                with in_kernel_invocation_manager(mode):
                    alias = _aten.alias.default(tensor)
                return FakeTensor(mode, alias, target)

            return _pytree.tree_map_only(FakeTensor, moved, values)

        args, named = move(ours, kernels, (args, named))
        return move(kernels, ours, theirs(mode, operator, *args, **named))

    return answer


def register() -> None:
    hint = _hinting(_meta_registrations.device_hint)
    _meta_registrations.device_hint = hint  # type: ignore[assignment]
    known = fake_impls.op_implementations_dict
    for operator in _CONVOLUTIONS:
        if operator in known:  # torch 2.11 has a rule for two of them
            known[operator] = _of_kernels(known[operator])
