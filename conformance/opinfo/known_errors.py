"""Known errors of torch's kernels for the CPU, with references that do not depend on them.

The CPU is what devices are compared with, and it is not always right. Where a device differs from
it, `reference` says what is right for the calls that this table is about. A device that gives the
same as the CPU passes all the same: nobody has to be better than PyTorch.

Each entry was seen on torch 2.12.1, 2.13.0 and, where it does not say `mended`, 2.14.1.
docs/conformance.md lists them for the reader.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch

# What an entry says of a pass that these references decide.
REMARK = "differs from the CPU, whose kernel is known to be wrong there, and is right"

_REDUCED = (torch.float16, torch.bfloat16)
_FLOATS = (*_REDUCED, torch.float32)
_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


@dataclasses.dataclass(frozen=True)
class KnownError:
    """What is wrong of an operator for tensors of `dtypes`, and what is right.

    Args:
        name: the operator's, as PyTorch's descriptions of operators (OpInfo) or ATen have it.
        dtypes: of the first argument.
        wrong: what the CPU does, in a sentence without its end.
        reference: what is right, of the same arguments; in their dtype, as the operator's result.
        example: arguments, of one of the dtypes, for which the CPU is wrong.
        mended: the first release of torch that is known to be right.
    """

    name: str
    dtypes: tuple[torch.dtype, ...]
    wrong: str
    reference: Callable[..., torch.Tensor]
    example: Callable[[torch.dtype], tuple[Any, ...]]
    mended: tuple[int, int] | None = None


def reference(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> torch.Tensor | None:
    """What is right of a call of the operator, on the CPU; None where the CPU is not known to be
    wrong of it, or where the call is one that the reference does not know."""
    known = KNOWN.get(name)
    first = next((each for each in arguments if isinstance(each, torch.Tensor)), None)
    if known is None or first is None or first.dtype not in known.dtypes:
        return None
    try:
        return known.reference(*arguments, **named)
    except (TypeError, ValueError, RuntimeError):
        return None


# ---- references


def _in_float64(call: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def computed(first: torch.Tensor, *others: Any, **named: Any) -> torch.Tensor:
        wide = [it.double() if isinstance(it, torch.Tensor) else it for it in (first, *others)]
        return call(*wide, **named).to(first.dtype)

    return computed


def _gcd(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """In Python's numbers. That of the smallest number and itself, or 0, has no place in the dtype
    and wraps around, as abs() of it does."""
    dtype = torch.result_type(x, y)
    bits = torch.iinfo(dtype).bits
    x, y = torch.broadcast_tensors(x, y)
    pairs = zip(x.flatten().tolist(), y.flatten().tolist(), strict=True)
    found = [math.gcd(a, b) for a, b in pairs]
    wrapped = [it - (1 << bits) if it >> (bits - 1) else it for it in found]
    return torch.tensor(wrapped, dtype=dtype).reshape(x.shape)


def _logit_backward(
    gradient: torch.Tensor, x: torch.Tensor, eps: float | None = None
) -> torch.Tensor:
    """By its formula, in which -0. is 0."""
    low, high = (0.0, 1.0) if eps is None else (eps, 1 - eps)
    wide = x.double() + 0.0
    inside = gradient.double() / (wide * (1 - wide))
    outside = torch.full_like(inside, math.nan if eps is None else 0.0)
    return torch.where((wide < low) | (wide > high), outside, inside).to(x.dtype)


def _soft_margin_loss(
    x: torch.Tensor, target: torch.Tensor, reduction: str = "mean"
) -> torch.Tensor:
    """log(1 + exp(-t x)), of which the exponential is not taken where it would overflow."""
    each = torch.nn.functional.softplus(-target.double() * x.double())
    return {"none": each, "mean": each.mean(), "sum": each.sum()}[reduction].to(x.dtype)


def _sgd(
    parameter: torch.Tensor, gradient: torch.Tensor, rate: float, weight_decay: float = 0.0
) -> torch.Tensor:
    """A step without momentum."""
    wide = parameter.float()
    return (wide - rate * (gradient.float() + weight_decay * wide)).to(parameter.dtype)


# ---- what is known


def _linspace(low: float, high: float, count: int) -> Callable[[torch.dtype], torch.Tensor]:
    return lambda dtype: torch.linspace(low, high, count).to(dtype)


_LIST = [
    KnownError(
        "gcd",
        _INTEGERS,
        "of the dtype's smallest number, -128 of int8, it can be negative: gcd(-128, 24) is -8",
        _gcd,
        lambda dtype: (
            torch.full((64,), torch.iinfo(dtype).min, dtype=dtype),
            torch.arange(-32, 32, dtype=dtype),
        ),
    ),
    KnownError(
        "histc",
        _REDUCED,
        "elements are counted in the dtype itself, so that a bin of bfloat16 stops at 256 and one "
        "of half at 2048, and the bin of an element near an edge is another one",
        _in_float64(torch.histc),
        lambda dtype: (torch.full((5000,), 0.5, dtype=dtype), 2, 0, 1),
    ),
    KnownError(
        "igammac",
        (torch.float32,),
        "of a near to 0 all but two digits are lost: igammac(1e-8, 1e-6) is off by 4 % in float32",
        _in_float64(torch.special.gammaincc),
        lambda dtype: (torch.tensor([1e-8], dtype=dtype), torch.tensor([1e-6], dtype=dtype)),
    ),
    KnownError(
        "igamma",
        (torch.float32,),
        "of a from some hundreds on the lower tail has three to four digits in float32",
        _in_float64(torch.special.gammainc),
        lambda dtype: (torch.tensor([7e5], dtype=dtype), torch.tensor([7e5 * 0.99], dtype=dtype)),
    ),
    KnownError(
        "logit_backward",
        (torch.float32, torch.float64),
        "of -0. it is -inf where eight or sixteen elements are computed at once, and inf elsewhere",
        _logit_backward,
        lambda dtype: (torch.ones(40, dtype=dtype), torch.full((40,), -0.0, dtype=dtype)),
    ),
    KnownError(
        "nn.functional.soft_margin_loss",
        _FLOATS,
        "exp(-t x) overflows: of half from 12 on (float32: 89) the loss is inf, its gradient NaN",
        _soft_margin_loss,
        lambda dtype: (
            torch.tensor([-100.0, 0.5], dtype=dtype),
            torch.ones(2, dtype=dtype),
            "none",
        ),
    ),
    KnownError(
        "_fused_sgd_",
        _REDUCED,
        "whole vectors of elements are computed and not stored: 96 of 100 parameters, and their "
        "momenta, stay as they were. torch.optim.SGD(fused=True) learns next to nothing",
        _sgd,
        lambda dtype: (_linspace(0.5, 1, 40)(dtype), _linspace(1, 2, 40)(dtype), 0.5),
        mended=(2, 14),
    ),
]
KNOWN = {known.name: known for known in _LIST}
