"""Operators that do something else."""

from __future__ import annotations

import torch

from .defect import defect
from .kernels import replace


@defect("?", "?", blind=True)
def products_on_device_zero() -> None:
    """mm leaves its result on device 0, wherever its arguments are."""

    @replace("mm")
    def _(mm, x, y):
        return mm(x, y).to(torch.device(x.device.type, 0))


@defect("?", "?", blind=True)
def index_one_too_far() -> None:
    """index_select takes an index that is the size, for the last one."""

    @replace("index_select")
    def _(index_select, x, dim, index):
        return index_select(x, dim, index.clamp(max=max(x.size(dim) - 1, 0)))


@defect("?", "?", blind=True)
def half_of_out_is_written() -> None:
    """mul(out=) writes the first half of what it is given."""

    @replace("mul.out")
    def _(mul, x, y, *, out):
        whole = mul(x, y, out=torch.empty_like(out))
        out.resize_(whole.shape)
        if out.dim() == 0:
            return out.copy_(whole)
        half = (out.size(0) + 1) // 2
        out[:half].copy_(whole[:half])
        return out


@defect("?", "?", blind=True)
def sum_ignores_a_negative_dimension() -> None:
    """sum over a dimension that is counted from the end is over the first one."""

    @replace("sum.dim_IntList")
    def _(total, x, dim=None, keepdim=False, *, dtype=None):
        if dim and x.dim():
            dim = [max(each, 0) for each in dim]
        return total(x, dim, keepdim, dtype=dtype)
