"""Values: operators on more than scalars, written into out= and in place, as on the CPU

The first of PyTorch's own samples of a reduction or of an arithmetic operator have no dimensions,
so that a miscounted dimension, or a half that is not written, does not show in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
import torch.nn.functional as F

from ..backend import Backend
from ..check import Check, check, variants
from ..expect import on, same
from ..warned import warnings_are
from .modes import OPERATORS as IN_EACH_MODE

CPU = torch.device("cpu")
NEEDS = "torch/include/ATen/core/dispatch/Dispatcher.h: Dispatcher::call"
WRONG = "models compute wrong numbers, in silence"


def _place(backend: Backend) -> torch.device:
    """The device as tensors name it: the CPU has no index."""
    return CPU if backend.name == "cpu" else backend.device


def _numbers(place: torch.device, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Distinct ones of either sign, so that an order of them is one order, in three sizes."""
    order = torch.randperm(24, generator=torch.Generator().manual_seed(0)) - 11
    return (order.reshape(2, 3, 4) / 8).to(dtype).to(place)


def _agrees(what: str, place: torch.device, call: Callable, dtype: torch.dtype) -> None:
    same(
        *(call(_numbers(place, dtype)), call(_numbers(CPU, dtype)), place, what),
        rtol=1e-5,
        atol=1e-6,
    )


# ---- each dimension

_OF_A_DIMENSION: dict[str, Callable] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "prod": torch.prod,
    "amax": torch.amax,
    "amin": torch.amin,
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "all": torch.all,
    "any": torch.any,
    "var": torch.var,
    "std": torch.std,
    "logsumexp": torch.logsumexp,
    "norm": torch.linalg.vector_norm,
    "count_nonzero": torch.count_nonzero,
    "median": lambda x, dim: x.median(dim).values,
    "mode": lambda x, dim: x.mode(dim).values,
    "cumsum": torch.cumsum,
    "cumprod": torch.cumprod,
    "cummax": lambda x, dim: x.cummax(dim).indices,
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
    "sort": lambda x, dim: x.sort(dim).indices,
    "topk": lambda x, dim: x.topk(2, dim).values,
    "kthvalue": lambda x, dim: x.kthvalue(2, dim).values,
    "flip": lambda x, dim: x.flip(dim),
    "roll": lambda x, dim: x.roll(1, dim),
    "cat": lambda x, dim: torch.cat([x, x + 1], dim),
    "stack": lambda x, dim: torch.stack([x, x + 1], dim),
    "index_select": lambda x, dim: x.index_select(dim, torch.tensor([1, 0], device=x.device)),
    "gather": lambda x, dim: x.gather(dim, torch.ones(2, 3, 4, dtype=torch.long, device=x.device)),
    "index_fill": lambda x, dim: x.index_fill(dim, torch.tensor([1], device=x.device), 5.0),
    "index_add": lambda x, dim: x.index_add(
        dim, torch.tensor([0], device=x.device), x.narrow(dim, 1, 1)
    ),
    "scatter": lambda x, dim: x.scatter(
        dim, torch.ones(1, 1, 1, dtype=torch.long, device=x.device), 5.0
    ),
    "diff": lambda x, dim: x.diff(dim=dim),
    "repeat_interleave": lambda x, dim: x.repeat_interleave(2, dim),
    "renorm": lambda x, dim: x.renorm(2, dim, 1.0),
}


def each_dimension_is_the_cpus(backend: Backend, call: Callable) -> None:
    """The operator over each dimension, counted from the beginning and from the end."""
    place = _place(backend)
    for dim in (0, 1, 2, -1, -2, -3):
        _agrees(f"over the dimension {dim}", place, lambda x, d=dim: call(x, d), torch.float32)


DIMENSIONS: list[Check] = variants(
    check(called_by="torch/_torch_docs.py: multi_dim_common", without=WRONG)(
        each_dimension_is_the_cpus
    ),
    each_dimension_is_the_cpus,
    {name: (call,) for name, call in _OF_A_DIMENSION.items()},
)


@check(called_by="torch/_torch_docs.py: multi_dim_common", without=WRONG)
def several_dimensions_are_reduced(backend: Backend) -> None:
    """Reductions over several dimensions, with keepdim and without, are the CPU's."""
    place = _place(backend)
    for name in ("sum", "mean", "amax", "amin", "var", "std", "logsumexp"):
        call = getattr(torch, name)
        for dims in ((0, 1), (-1, 0), (0, 1, 2)):
            for keep in (True, False):
                _agrees(
                    f"{name} over {dims}",
                    place,
                    lambda x, c=call, d=dims, k=keep: c(x, d, keepdim=k),
                    torch.float32,
                )


@check(called_by=NEEDS, without=WRONG)
def operators_give_the_cpus_values(backend: Backend) -> None:
    """Each operator of a long list, on a matrix, gives the CPU's values on the device."""
    place = _place(backend)
    for name, call in IN_EACH_MODE.items():
        x = _numbers(CPU).reshape(4, 6) + 1.9
        same(call(x.to(place)), call(x), place, name, rtol=1e-4, atol=1e-4)


@check(called_by=NEEDS, without="counters and indices are wrong above 16 million")
def integers_are_exact(backend: Backend) -> None:
    """Arithmetic of int64 is exact beyond what a float can hold."""
    place = _place(backend)
    large = torch.tensor([2**53 + 1, -(2**40) - 1, 2**24 + 1, 7])
    for name, call in {
        "add": lambda x: x + x,
        "add of a number": lambda x: x + 1,
        "mul": lambda x: x * 3,
        "sub": lambda x: x - 1,
        "floor_divide": lambda x: x // 3,
        "remainder": lambda x: x % 10,
        "abs": lambda x: x.abs(),
        "sum": lambda x: x.sum(),
        "cumsum": lambda x: x.cumsum(0),
        "maximum": lambda x: torch.maximum(x, x - 1),
        "eq": lambda x: x == x - 1,
        "sort": lambda x: x.sort().values,
        "bitwise_xor": lambda x: x ^ 5,
    }.items():
        same(call(large.to(place)), call(large), place, name)


# ---- where a result is written

_WRITTEN: dict[str, Callable] = {
    "mul": lambda x, out: torch.mul(x, x, out=out),
    "add": lambda x, out: torch.add(x, x, out=out),
    "neg": lambda x, out: torch.neg(x, out=out),
    "exp": lambda x, out: torch.exp(x, out=out),
    "clamp": lambda x, out: torch.clamp(x, -0.5, 0.5, out=out),
    "maximum": lambda x, out: torch.maximum(x, -x, out=out),
    "cumsum": lambda x, out: torch.cumsum(x, 1, out=out),
    "sum": lambda x, out: torch.sum(x, 1, out=out),
    "mean": lambda x, out: torch.mean(x, 2, out=out),
    "amax": lambda x, out: torch.amax(x, 0, out=out),
    "softmax": lambda x, out: torch.softmax(x, 2, out=out),
    "bmm": lambda x, out: torch.bmm(x, x.mT, out=out),
    "mm": lambda x, out: torch.mm(x[0], x[1].t(), out=out),
    "cat": lambda x, out: torch.cat([x, x], 1, out=out),
    "stack": lambda x, out: torch.stack([x, x], 1, out=out),
    "index_select": lambda x, out: torch.index_select(
        x, 2, torch.tensor([3, 0], device=x.device), out=out
    ),
    "gather": lambda x, out: torch.gather(
        x, 2, torch.ones(2, 3, 4, dtype=torch.long, device=x.device), out=out
    ),
    "where": lambda x, out: torch.where(x > 0, x, -x, out=out),
}
_NO_RESULT = -99.0


def out_is_written_whole(backend: Backend, call: Callable) -> None:
    """out= has each element written, whether it is there already, transposed, every other one of a
    larger tensor, or empty and has to grow; and what lies between its elements stays."""
    place = _place(backend)
    expected = call(_numbers(CPU), torch.empty(0))

    def filled(*sizes: int) -> torch.Tensor:
        return torch.full(sizes, _NO_RESULT, device=place)

    sizes = expected.shape
    gaps = filled(*sizes[:-1], 2 * sizes[-1])
    grows = filled(2 * expected.numel())  # its memory is there, with other numbers in it
    for what, out in {
        "there": filled(*sizes),
        "transposed": filled(*reversed(sizes)).permute(*reversed(range(len(sizes)))),
        "with gaps": gaps[..., ::2],
        "empty": grows.resize_(0),
    }.items():
        strides = out.stride()
        returned = call(_numbers(place), out)
        assert returned is out, f"out= {what}: what is returned is not what was passed"
        same(out, expected, place, f"out= {what}", rtol=1e-5, atol=1e-6)
        assert what == "empty" or out.stride() == strides, f"out= {what}: other strides"
    between = torch.full(gaps[..., 1::2].shape, _NO_RESULT)
    same(gaps[..., 1::2], between, place, "what lies between")


OUT: list[Check] = variants(
    check(
        called_by="torch/include/ATen/native/Resize.h: resize_output",
        without="a buffer that is used again keeps old numbers",
    )(out_is_written_whole),
    out_is_written_whole,
    {name: (call,) for name, call in _WRITTEN.items()},
)

_IN_PLACE: dict[str, Callable] = {
    "relu_": lambda x: x.relu_(),
    "add_": lambda x: x.add_(1.5),
    "mul_": lambda x: x.mul_(x.clone()),
    "neg_": lambda x: x.neg_(),
    "exp_": lambda x: x.exp_(),
    "clamp_": lambda x: x.clamp_(min=0.25),
    "masked_fill_": lambda x: x.masked_fill_(x > 0, 2.0),
    "fill_": lambda x: x.fill_(3.0),
    "zero_": lambda x: x.zero_(),
    "cumsum_": lambda x: x.cumsum_(1),
    "sigmoid_": lambda x: x.sigmoid_(),
    "addcmul_": lambda x: x.addcmul_(x.clone(), x.clone()),
    "lerp_": lambda x: x.lerp_(torch.ones_like(x), 0.5),
    "copy_": lambda x: x.copy_(torch.ones_like(x)[:, :1]),
    "index_fill_": lambda x: x.index_fill_(2, torch.tensor([0], device=x.device), 1.0),
    "leaky_relu_": lambda x: F.leaky_relu_(x),
    "tril_": lambda x: x.tril_(),
}


def what_is_in_place_changes_its_tensor(backend: Backend, call: Callable) -> None:
    """The operator gives back its very argument, with the CPU's values, in a tensor and in a
    transposed part of one, of which the rest stays."""
    place = _place(backend)
    for part in (lambda x: x, lambda x: x[:, ::2].mT):
        mine, cpus = _numbers(place), _numbers(CPU)
        view, oracle = part(mine), part(cpus)
        assert call(view) is view, "what is returned is not the argument"
        call(oracle)
        same(mine, cpus, place, "the tensor", rtol=1e-5, atol=1e-6)


IN_PLACE: list[Check] = variants(
    check(called_by="torch/optim/sgd.py: _single_tensor_sgd", without="updates are lost")(
        what_is_in_place_changes_its_tensor
    ),
    what_is_in_place_changes_its_tensor,
    {name: (call,) for name, call in _IN_PLACE.items()},
)


# ---- arguments of two dtypes

MIXED = (torch.float32, torch.float16, torch.int64, torch.int32, torch.bool, torch.complex64)
# All that PyTorch describes as binary (BinaryUfuncInfo), but for what only runs on CUDA.
_BINARY = """
add sub mul true_divide floor_divide fmod remainder pow float_power atan2 hypot copysign nextafter
clamp_max clamp_min maximum minimum fmax fmin max min ldexp logaddexp xlogy igamma igammac
heaviside isclose lcm gcd complex polar rsub eq ne lt le gt ge logical_and logical_or logical_xor
bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
special.xlog1py special.zeta special.chebyshev_polynomial_t special.chebyshev_polynomial_u
special.chebyshev_polynomial_v special.chebyshev_polynomial_w special.hermite_polynomial_h
special.hermite_polynomial_he special.laguerre_polynomial_l special.legendre_polynomial_p
special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u
special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w
"""


def _function(name: str) -> Callable:
    module, _, function = name.rpartition(".")
    return getattr(torch.special if module else torch, function)


_DIVISIONS: dict[str, Callable] = {
    "div, truncated": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "div, rounded down": lambda x, y: torch.div(x, y, rounding_mode="floor"),
}
BINARY: dict[str, Callable] = {name: _function(name) for name in _BINARY.split()} | _DIVISIONS


def two_dtypes_are_promoted(backend: Backend, name: str, call: Callable) -> None:
    """A binary operator with tensors of two dtypes, also in place, gives the CPU's dtype and
    values; what the CPU refuses is refused, but for a kernel that only the CPU lacks."""
    place = _place(backend)
    in_place = getattr(torch.Tensor, f"{name}_", None)
    forms = {"": call} | ({", in place": in_place} if in_place is not None else {})
    for first, second in itertools.product(backend.having(MIXED), repeat=2):
        for what, form in forms.items():
            x, y = torch.tensor([1, 2, 3]).to(first), torch.tensor([1, 2, 1]).to(second)
            said = f"{name} of {first} and {second}{what}"
            with warnings_are("ignore"):  # complex32 is experimental
                _agrees_or_is_refused(said, form, x, y, place)


def _agrees_or_is_refused(
    said: str, call: Callable, x: torch.Tensor, y: torch.Tensor, place: torch.device
) -> None:
    there = x.to(place, copy=True), y.to(place, copy=True)
    try:
        expected = call(x.clone(), y.clone())
    except NotImplementedError:
        return
    except (RuntimeError, TypeError) as refusal:  # TypeError from torch 2.15 on
        if isinstance(refusal, RuntimeError) and "not implemented" in str(refusal):
            return
        try:
            call(*there)
        except (RuntimeError, TypeError):
            return
        raise AssertionError(f"{said} was accepted, the CPU says: {refusal}") from None
    found = call(*there)
    on(found, place, said)
    torch.testing.assert_close(
        found.cpu(), expected, equal_nan=True, msg=lambda text: f"{said}: {text}"
    )


MIXED_DTYPES: list[Check] = variants(
    check(
        called_by="torch/include/ATen/TensorIterator.h: TensorIteratorConfig",
        without="sums of integers and floats are cut off, or end in an error",
    )(two_dtypes_are_promoted),
    two_dtypes_are_promoted,
    {name: (name, call) for name, call in BINARY.items()},
)
