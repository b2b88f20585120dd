"""Extremes: large sizes, numbers that are none, equal ones and all dtypes, as on the CPU

PyTorch's samples are small, of ordinary numbers, and at most levels of five dtypes: a kernel that
leaves out what is behind its first block, or takes float64 for float32, passes all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ..backend import Backend
from ..check import Check, Unsupported, check, variants
from ..expect import same

NEEDS = "torch/include/ATen/core/dispatch/Dispatcher.h: Dispatcher::call"


def _place(backend: Backend) -> torch.device:
    """The device as tensors name it: the CPU has no index."""
    return torch.device("cpu") if backend.name == "cpu" else backend.device


def _agrees(place: torch.device, call: Callable, *given: torch.Tensor, **how: Any) -> None:
    same(call(*(each.to(place) for each in given)), call(*given), place, **how)


def _integers(*sizes: int, below: int = 4, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Of which a float has every sum, in whatever order they are added."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(1 - below, below, sizes, generator=generator).to(dtype)


# ---- sizes behind the first block, tile or grid

_LONG = 1_100_003  # a prime: no block divides it
_ROW = 70_001
_LARGE: dict[str, tuple] = {
    "abs": (torch.abs, (_LONG,)),
    "neg": (torch.neg, (_LONG,)),
    "add": (lambda x: x + x, (_LONG,)),
    "mul": (lambda x: x * x, (_LONG,)),
    "where": (lambda x: torch.where(x > 0, x, -x), (_LONG,)),
    "a number is added": (lambda x: x + 2.0, (_LONG,)),
    "a row is added": (lambda x: x + x[0], (_ROW, 3)),
    "a column is added": (lambda x: x + x[:, :1], (3, _ROW)),
    "fill_": (lambda x: torch.zeros_like(x).fill_(3.0), (_LONG,)),
    "sum": (torch.sum, (_LONG,)),
    "sum of rows": (lambda x: x.sum(1), (3, _ROW)),
    "sum of columns": (lambda x: x.sum(0), (_ROW, 3)),
    "amax": (lambda x: x.index_fill(0, torch.tensor(_LONG - 1).to(x.device), 9.0).amax(), (_LONG,)),
    "argmax": (
        lambda x: x.index_fill(0, torch.tensor(_LONG - 1).to(x.device), 9.0).argmax(),
        (_LONG,),
    ),
    "cumsum": (lambda x: x.cumsum(1), (3, _ROW)),
    "softmax": (lambda x: x.softmax(1), (3, _ROW)),
    "layer_norm": (lambda x: F.layer_norm(x, x.shape[1:]), (3, 5_003)),
    "mm": (lambda x: x @ x.t(), (67, 2_051)),
    "addmm": (lambda x: torch.addmm(x[:, 0], x, x.t()), (67, 2_051)),
    "bmm": (lambda x: torch.bmm(x, x.mT), (259, 3, 5)),
    "conv2d": (lambda x: F.conv2d(x, x[:, :, :3, :3]), (5, 67, 33, 35)),
    "transposed and copied": (lambda x: x.t().contiguous(), (1_031, 1_027)),
    "cat": (lambda x: torch.cat(x.unbind()), (517, 11)),
    "sort": (lambda x: x.sort(stable=True).indices, (_ROW,)),
    "topk": (lambda x: x.topk(100).values, (_ROW,)),
    "nonzero": (torch.nonzero, (_ROW,)),
    "masked_select": (lambda x: x[x > 0], (_ROW,)),
    "index_select": (lambda x: x[x.long() + 5], (_ROW,)),
    "gather": (lambda x: x.gather(0, x.long() + 5), (_ROW,)),
    "index_add": (lambda x: torch.zeros(9).to(x).index_add(0, x.long() + 4, x), (_ROW,)),
    "scatter_add": (lambda x: torch.zeros(9).to(x).scatter_add(0, x.long() + 4, x), (_ROW,)),
    "index_put": (
        lambda x: torch.zeros(9).to(x).index_put((x.long() + 4,), x, accumulate=True),
        (_ROW,),
    ),
    "embedding": (lambda x: F.embedding(x.long() + 4, x[:18].reshape(9, 2)), (_ROW,)),
}


def large_sizes_are_the_cpus(backend: Backend, call: Callable, sizes: tuple[int, ...]) -> None:
    """The operator on many elements, long rows or many matrices gives the CPU's values to the last
    one."""
    _agrees(_place(backend), call, _integers(*sizes), rtol=1e-4, atol=1e-6)


LARGE: list[Check] = variants(
    check(called_by=NEEDS, without="models of real sizes compute wrong numbers, in silence")(
        large_sizes_are_the_cpus
    ),
    large_sizes_are_the_cpus,
    _LARGE,
)


@check(called_by="torch/functional.py: broadcast_tensors", without="batches of batches are wrong")
def many_dimensions_are_taken(backend: Backend) -> None:
    """Tensors of eight dimensions are computed with, permuted and broadcast in both directions."""
    place = _place(backend)
    x = _integers(2, 3, 1, 2, 3, 1, 2, 2, below=60)
    y = _integers(2, 1, 4, 2, 1, 2, 1, 2, below=50)
    calls: dict[str, Callable] = {
        "add": torch.add,
        "minimum": torch.minimum,
        "lt": torch.lt,
        "where": lambda x, y: torch.where(x > y, x, y),
        "a permuted one": lambda x, y: x.permute(7, 2, 5, 0, 3, 6, 1, 4) * 2,
        "a permuted copy": lambda x, y: x.permute(7, 2, 5, 0, 3, 6, 1, 4).contiguous(),
        "every other one": lambda x, y: x[:, ::2, :, 1:, ::2, :, 1:, :] + 1,
        "sum": lambda x, y: x.sum((0, 3, 6)),
        "flip": lambda x, y: x.flip((0, 4, 7)),
    }
    for name, call in calls.items():
        _agrees(place, call, x, y, what=name)


# ---- numbers that are none, and zeros with a sign

_SPECIAL: dict[str, Callable] = {
    "relu": torch.relu,
    "neg": torch.neg,
    "abs": torch.abs,
    "floor": torch.floor,
    "round": torch.round,
    "trunc": torch.trunc,
    "sqrt": torch.sqrt,
    "exp": torch.exp,
    "log": torch.log,
    "reciprocal": torch.reciprocal,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "clamp": lambda x: x.clamp(-1, 1),
    "pow": lambda x: x**2,
    "add": lambda x: x + x.flip(0),
    "mul": lambda x: x * x.flip(0),
    "div": lambda x: x / x.flip(0),
    "maximum": lambda x: torch.maximum(x, x.roll(1)),
    "minimum": lambda x: torch.minimum(x, x.roll(1)),
    "eq": lambda x: x == x.clone(),
    "ne": lambda x: x != x.clone(),
    "lt": lambda x: x < x.roll(1),
    "isnan": torch.isnan,
    "isfinite": torch.isfinite,
    "nan_to_num": torch.nan_to_num,
    "logical_not": torch.logical_not,
    "to bool": lambda x: x.bool(),
    "amax": torch.amax,
    "amin": torch.amin,
    "argmax": torch.argmax,
    "max of a dimension": lambda x: x.reshape(2, -1).max(1).values,
    "sum": torch.sum,
    "any": torch.any,
    "sort": lambda x: x.sort().values,
    "softmax": lambda x: x.softmax(0),
    "where": lambda x: torch.where(x > 0, x, 1.0),
}
_HAVE_A_SIGNED_ZERO = ("neg", "abs", "floor", "round", "trunc")


def special_numbers_are_the_cpus(backend: Backend, name: str) -> None:
    """The operator takes NaN, infinities and both zeros as the CPU does: NaN stays NaN, also in a
    maximum, and halves are rounded to the even number."""
    place, call = _place(backend), _SPECIAL[name]
    infinite = math.inf
    x = torch.tensor([1.5, math.nan, infinite, -infinite, 0.0, -0.0, 2.5, -1.5, 3e38, -0.25])
    for what, part in {"all": x, "without NaN": x[2:]}.items():
        _agrees(place, call, part, what=what, rtol=1e-5)
        if name in _HAVE_A_SIGNED_ZERO:
            signs = [torch.signbit(call(each).cpu()) for each in (part[-6:].to(place), part[-6:])]
            same(signs[0], signs[1], signs[0].device, "the sign of zero")


SPECIAL: list[Check] = variants(
    check(called_by=NEEDS, without="a training that diverges is not noticed")(
        special_numbers_are_the_cpus
    ),
    special_numbers_are_the_cpus,
    {name: (name,) for name in _SPECIAL},
)


@check(called_by="torch/_torch_docs.py: multi_dim_common", without="predictions are others")
def the_first_of_equals_is_taken(backend: Backend) -> None:
    """Of equal numbers argmax, argmin, max and min name the first, and a stable sort keeps their
    order."""
    place = _place(backend)
    for name, call in {
        "argmax": lambda x: x.argmax(1),
        "argmin": lambda x: x.argmin(1),
        "max": lambda x: x.max(1).indices,
        "min": lambda x: x.min(1).indices,
        "argmax of all": torch.argmax,
        "a stable sort": lambda x: x.sort(dim=1, stable=True).indices,
        "a stable descending sort": lambda x: x.sort(dim=1, descending=True, stable=True).indices,
    }.items():
        _agrees(place, call, _integers(7, 301, below=3), what=name)


# ---- dtypes

_ARITHMETIC: dict[str, Callable] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "a number is added": lambda x, y: x + 2,
    "a number is multiplied": lambda x, y: x * 3,
    "eq": lambda x, y: x == y,
    "where": lambda x, y: torch.where(x == y, x, y),
    "sum": lambda x, y: x.sum(),
    "cumsum": lambda x, y: x.cumsum(0),
    "cat": lambda x, y: torch.cat([x, y]),
    "to float32": lambda x, y: x.abs().to(torch.float32),
}
_ORDERED: dict[str, Callable] = {
    "lt": lambda x, y: x < y,
    "maximum": torch.maximum,
    "amin": lambda x, y: x.amin(),
    "sort": lambda x, y: x.sort().values,
    "abs": lambda x, y: x.abs(),
    "clamp": lambda x, y: x.clamp(2, 9),
}
_WITH_FRACTIONS: dict[str, Callable] = {
    "div": lambda x, y: x / y,
    "sqrt": lambda x, y: x.abs().sqrt(),
    "exp": lambda x, y: x.exp(),
    "mean": lambda x, y: x.mean(),
    "mm": lambda x, y: x.reshape(4, 6) @ y.reshape(6, 4),
}
_OF_INTEGERS: dict[str, Callable] = {
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_not": lambda x, y: ~x,
    "shift": lambda x, y: (x << 1) + (x >> 2),
}
# Of floats, how exact: what a dtype with half of the bits could not give.
_TOLERANCE = {torch.float16: 2e-3, torch.float64: 1e-13, torch.complex128: 1e-13}
_SCALE = {torch.int64: 2**45 + 1, torch.int32: 2**25 + 1, torch.int16: 2**9 + 1}


def each_dtype_is_computed_with(backend: Backend, dtype: torch.dtype) -> None:
    """Arithmetic of the dtype is the CPU's, with its precision, and to the last bit for integers,
    which wrap around."""
    place = _place(backend)
    x, y = torch.arange(24), torch.arange(24).flip(0) + 1
    if dtype.is_floating_point or dtype.is_complex:
        x, y = (x / 7 - 1).to(dtype), (y / 3).to(dtype)
        if dtype != torch.float16:
            x, y = x + 1e-9, y - 1e-9
        calls = _ARITHMETIC | _WITH_FRACTIONS | ({} if dtype.is_complex else _ORDERED)
    else:
        x, y = ((each * _SCALE.get(dtype, 3)).to(dtype) for each in (x, y))
        calls = _ARITHMETIC | _ORDERED | _OF_INTEGERS
    try:
        x.to(place)
    except (RuntimeError, TypeError) as error:
        first = str(error).partition("\n")[0]
        raise Unsupported(f"{backend.name} has no {dtype}: {first}") from None
    tolerance = _TOLERANCE.get(dtype, 0)
    for name, call in calls.items():
        _agrees(place, call, x, y, what=name, rtol=tolerance, atol=tolerance)


DTYPES: list[Check] = variants(
    check(called_by=NEEDS, without="programs that leave float32 compute wrong numbers, in silence")(
        each_dtype_is_computed_with
    ),
    each_dtype_is_computed_with,
    {
        str(dtype).removeprefix("torch."): (dtype,)
        for dtype in (
            *(torch.float16, torch.float64, torch.complex128, torch.int64, torch.int32),
            *(torch.int16, torch.int8, torch.uint8),
        )
    },
)
