"""Loops that Inductor could make and that kernels in the dialect would run badly, or not at all:
what they come from is left to the device's operators.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import ir, lowering
from torch._inductor.codegen import common
from torch._inductor.virtualized import V

from ... import _native, device_module, kernels, name
from .scheduling import PortableScheduling
from .values import MEMORY

# An item makes each row of a scan. The device's operator shares a longer row among items.
_LONGEST_SCAN = 512


def _is_portable(device_type: str) -> bool:
    return device_type == name and common.get_scheduling_for_device(name) is PortableScheduling


def _leave_long_scans() -> None:
    create_of_torch = ir.Scan.create.__func__

    @functools.wraps(create_of_torch)
    def create(
        cls: Any,
        device: Any,
        dtypes: Any,
        inner_fns: Any,
        size: Any,
        axis: Any,
        *rest: Any,
        **named: Any,
    ) -> Any:
        if _is_portable(device.type) and named.get("can_fallback_to_aten", True):
            length = V.graph.sizevars.optimization_hint(size[axis], fallback=_LONGEST_SCAN + 1)
            if length > _LONGEST_SCAN:
                return [None] * len(dtypes)
        return create_of_torch(cls, device, dtypes, inner_fns, size, axis, *rest, **named)

    setattr(ir.Scan, create.__name__, classmethod(create))


def _lacks_additions(dtype: torch.dtype) -> bool:
    """Whether a device of ours has float64 and cannot add to it atomically: it would need atomic
    operations of 64 bits."""
    if dtype != torch.float64 or not _is_portable(name):
        return False
    ours = filter(_native.runs_portable_kernels, range(device_module.device_count()))
    targets = [kernels.target_of(each, "torch.compile") for each in ours]
    return any(each.has_float64 and not each.has_int64_atomics for each in targets)


def _or_lacks(asked: Callable[..., bool], dtype_of: Callable[..., torch.dtype]) -> None:
    """Lets a function of torch's that asks for a fallback answer yes for such a device too."""

    @functools.wraps(asked)
    def needs_fallback(*args: Any, **named: Any) -> bool:
        return asked(*args, **named) or _lacks_additions(dtype_of(*args))

    setattr(lowering, asked.__name__, needs_fallback)


def _leave_other_dtypes() -> None:
    """Those of 8 bits."""
    asked = lowering.unsupported_input_tensor

    @functools.wraps(asked)
    def unsupported_input_tensor(tensor: torch.Tensor, *rest: Any, **named: Any) -> bool:
        if _is_portable(tensor.device.type) and tensor.dtype not in MEMORY:
            return True
        return bool(asked(tensor, *rest, **named))

    setattr(lowering, asked.__name__, unsupported_input_tensor)


def register() -> None:
    _leave_long_scans()
    _leave_other_dtypes()
    _or_lacks(lowering.needs_fallback_due_to_atomic_add_limitations, lambda dtype: dtype)
    _or_lacks(lowering.use_scatter_fallback, lambda _operator, _reduce, dtype, *_rest: dtype)
