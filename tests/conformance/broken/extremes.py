"""Operators that are right on what is small, ordinary and float32."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from .defect import defect
from .kernels import number_as_tensor, replace


def changed(result: torch.Tensor, change: Callable[[torch.Tensor], object]) -> torch.Tensor:
    """The result, after `change` of its values on the CPU."""
    values = result.cpu()
    change(values)
    return result.copy_(values)


@defect("extremes", "large_sizes_are_the_cpus[mm]", blind=True)
def long_products_lose_a_row() -> None:
    """mm() over 512 numbers and more leaves out the last row."""

    @replace("mm")
    def _(mm, left, right):
        result = mm(left, right)
        return changed(result, lambda x: x[-1].zero_()) if left.shape[1] >= 512 else result


@defect("extremes", "large_sizes_are_the_cpus[bmm]", blind=True)
def large_batches_are_cut() -> None:
    """bmm() computes the first 16 matrices."""

    @replace("bmm")
    def _(bmm, left, right):
        result = bmm(left, right)
        return changed(result, lambda x: x[16:].zero_()) if len(left) > 16 else result


@defect("extremes", "large_sizes_are_the_cpus[abs]", blind=True)
def one_grid_is_computed() -> None:
    """abs() computes the first 65536 elements."""

    @replace("abs")
    def _(absolute, x):
        result = absolute(x)
        return (
            changed(result, lambda y: y.view(-1)[65536:].zero_()) if x.numel() > 65536 else result
        )


@defect("extremes", "large_sizes_are_the_cpus[cumsum]", blind=True)
def long_sums_end_early() -> None:
    """cumsum() leaves out the last of a thousand."""

    @replace("cumsum")
    def _(cumsum, x, dim, **more):
        result = cumsum(x, dim, **more)
        if x.dim() == 0 or x.shape[dim] < 1000:
            return result
        return changed(result, lambda y: y.select(dim, -1).zero_())


@defect("extremes", "many_dimensions_are_taken", says="minimum", blind=True)
def six_dimensions_are_too_many() -> None:
    """minimum() of six dimensions is zero."""

    @replace("minimum")
    def _(minimum, left, right):
        result = minimum(left, right)
        return changed(result, lambda x: x.zero_()) if result.dim() >= 6 else result


@defect("extremes", "special_numbers_are_the_cpus[relu]", blind=True)
def relu_hides_nan() -> None:
    """relu() of NaN is 0."""

    @replace("relu")
    def _(relu, x):
        return changed(relu(x), lambda y: y.nan_to_num_(0.0, math.inf, -math.inf))


@defect("extremes", "special_numbers_are_the_cpus[neg]", says="the sign of zero", blind=True)
def zero_has_no_sign() -> None:
    """neg() of 0.0 is 0.0."""

    @replace("neg")
    def _(neg, x):
        return changed(neg(x), lambda y: y.add_(0.0))


@defect("extremes", "the_first_of_equals_is_taken", says="argmax", blind=True)
def the_last_of_equals_is_taken() -> None:
    """argmax() names the last of equal numbers."""

    @replace("argmax")
    def _(argmax, x, dim=None, keepdim=False):
        if dim is None:
            return argmax(x, dim, keepdim)
        last = x.cpu().flip(dim).argmax(dim, keepdim)
        return (x.shape[dim] - 1 - last).to(x.device)


@defect("extremes", "each_dtype_is_computed_with[float16]", says="mul", blind=True)
def halves_are_multiplied_wrongly() -> None:
    """A product of float16 is a quarter too large."""

    @replace("mul.Tensor")
    def _(mul, left, right):
        result = mul(number_as_tensor(left, right), number_as_tensor(right, left))
        return changed(result, lambda x: x.mul_(1.25)) if result.dtype == torch.float16 else result


@defect("extremes", "each_dtype_is_computed_with[float64]", says="sqrt", blind=True)
def doubles_are_computed_as_floats() -> None:
    """sqrt() of float64 is computed in float32."""

    @replace("sqrt")
    def _(sqrt, x):
        return sqrt(x.float()).double() if x.dtype == torch.float64 else sqrt(x)


@defect("extremes", "each_dtype_is_computed_with[int64]", says="bitwise_and", blind=True)
def half_of_the_bits_are_kept() -> None:
    """The & of int64 has its lower 32 bits."""

    @replace("bitwise_and.Tensor")
    def _(bitwise_and, left, right):
        result = bitwise_and(left, right)
        return (
            changed(result, lambda x: x.copy_(x.int())) if result.dtype == torch.int64 else result
        )


@defect("rng", "large_tensors_do_not_repeat_numbers", says="rand(600_000)", blind=True)
def uniform_repeats_itself() -> None:
    """The second half of a large tensor has the numbers of the first one."""

    @replace("uniform_")
    def _(uniform, x, *arguments, **more):
        uniform(x, *arguments, **more)
        half = x.numel() // 2
        if half >= 10_000:
            changed(x, lambda y: y.view(-1)[half : 2 * half].copy_(y.view(-1)[:half].clone()))
        return x
