"""Lets repr(tensor) work on a device without float64."""

import torch
from torch import _tensor_str

from . import _native, name


def teach() -> None:
    """torch computes in float64 how to print the elements of a tensor, on the tensor's device,
    except on devices that torch knows to lack float64. If this device lacks it, that conversion
    copies its tensors to the CPU first. Whether the device lacks it, only its driver may know, so
    that is asked when a tensor is printed."""
    convert = _tensor_str.tensor_totype  # its callers look it up in the module

    def tensor_totype(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type == name and not _native.supports(torch.double):
            tensor = tensor.cpu()
        moved: torch.Tensor = convert(tensor)
        return moved

    _tensor_str.tensor_totype = tensor_totype
