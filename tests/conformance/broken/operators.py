"""Operators that do something else."""

from __future__ import annotations

import os
import threading

import torch

from .defect import defect
from .kernels import number_as_tensor, replace


@defect("hooks", "tensors_of_another_device_stay_there", says="acme:0, not on acme:1", blind=True)
def products_on_device_zero() -> None:
    """mm leaves its result on device 0, wherever its arguments are."""

    @replace("mm")
    def _(mm, x, y):
        return mm(x, y).to(torch.device(x.device.type, 0))


@defect(
    "errors",
    "an_index_behind_the_end_is_refused[index_select]",
    says="behind the end was accepted",
    blind=True,
)
def index_one_too_far() -> None:
    """index_select takes an index that is the size, for the last one."""

    @replace("index_select")
    def _(index_select, x, dim, index):
        return index_select(x, dim, index.clamp(max=max(x.size(dim) - 1, 0)))


@defect("values", "out_is_written_whole[mul]", says="out= there", blind=True)
def half_of_out_is_written() -> None:
    """mul(out=) writes the first half of what it is given."""

    @replace("mul.out")
    def _(mul, x, y, *, out):
        like = x if isinstance(x, torch.Tensor) else y
        both = [number_as_tensor(each, like) for each in (x, y)]
        whole = mul(*both, out=torch.empty_like(out))
        out.resize_(whole.shape)
        if out.dim() == 0:
            return out.copy_(whole)
        half = (out.size(0) + 1) // 2
        out[:half].copy_(whole[:half])
        return out


@defect("values", "each_dimension_is_the_cpus[sum]", says="dimension -1", blind=True)
def sum_ignores_a_negative_dimension() -> None:
    """sum over a dimension that is counted from the end is over the first one."""

    @replace("sum.dim_IntList")
    def _(total, x, dim=None, keepdim=False, *, dtype=None):
        if dim and x.dim():
            dim = [max(each, 0) for each in dim]
        return total(x, dim, keepdim, dtype=dtype)


@defect("values", "operators_give_the_cpus_values", says="on cpu, not on acme:0")
def relu_on_the_cpu() -> None:
    """relu gives a tensor of the CPU."""

    @replace("relu")
    def _(relu, x):
        return relu(x).cpu()


@defect("values", "what_is_in_place_changes_its_tensor[relu_]", says="the tensor")
def relu_is_not_in_place() -> None:
    """relu_ gives a new tensor and leaves its argument."""

    @replace("relu_")
    def _(relu_, x):
        return relu_(x.clone())


@defect("operators", "sort/float32/forward", verdict="crash", says="SIGABRT")
def sort_aborts() -> None:
    """sort ends the process."""

    @replace("sort.stable")
    def _(sort, *args, **kwargs):
        os.abort()


@defect("operators", "topk/float32/forward", verdict="timeout")
def topk_hangs() -> None:
    """topk never ends."""

    @replace("topk")
    def _(topk, *args, **kwargs):
        threading.Event().wait()


@defect("values", "integers_are_exact")
def integers_are_added_as_floats() -> None:
    """add of int64 goes by way of float32."""

    @replace("add.Tensor")
    def _(add, x, y, *, alpha=1):
        like = x if isinstance(x, torch.Tensor) else y
        x, y = (number_as_tensor(each, like) for each in (x, y))
        if x.dtype == y.dtype == torch.int64:
            return add(x.float(), y.float(), alpha=alpha).long()
        return add(x, y, alpha=alpha)


@defect("strictness", "mixed_devices_are_refused[mm]", says="was accepted")
def mixed_devices_are_accepted() -> None:
    """mm brings its second argument to the first one's device."""

    @replace("mm")
    def _(mm, x, y):
        device = x.device if x.device.type == "acme" else y.device
        return mm(x.to(device), y.to(device))


@defect("fake", "fakes_have_the_metadata_of_results[mm]", says="fake")
def strides_are_others_than_the_fakes() -> None:
    """mm gives its result transposed in memory, which its fake does not."""

    @replace("mm")
    def _(mm, x, y):
        return mm(x, y).t().contiguous().t()


@defect("fake", "fakes_have_the_metadata_of_results[cumsum]")
def fake_reads_memory() -> None:
    """The meta kernel of cumsum reads the numbers of a tensor that has none."""

    @replace("cumsum", key="Meta")
    def _(cumsum, x, dim, *, dtype=None):
        x.numpy()
        return cumsum(x, dim, dtype=dtype)


@defect("modes", "gives_the_same_in_each_mode[sum of a dimension]", says="vmap")
def vmap_of_sum_is_over_another_dimension() -> None:
    """The batching rule of sum keeps the dimensions' numbers as they are without the batch."""

    @replace("sum.dim_IntList", key="FuncTorchBatched")
    def _(total, x, dim=None, keepdim=False, *, dtype=None):
        flipped = [-1 - each for each in dim] if dim else dim
        return total(x, flipped, keepdim, dtype=dtype)


@defect("operators", "exp/float32/backward", says="requires a gradient")
def exp_forgets_the_gradient() -> None:
    """The backend's own autograd kernel of exp makes results that require no gradient."""

    @replace("exp", key="AutogradPrivateUse1")
    def _(exp, x):
        with torch.no_grad():
            return exp(x.detach())


@defect("errors", "out_of_memory_is_its_own_error")
def out_of_memory_is_any_error() -> None:
    """More than there is is a RuntimeError."""

    @replace("empty.memory_format")
    def _(empty, *args, **kwargs):
        try:
            return empty(*args, **kwargs)
        except torch.OutOfMemoryError as error:
            raise RuntimeError(str(error)) from None


@defect(
    "operators",
    "nn.functional.gelu/float32/out",
    says="out= transposed: Mismatched elements",
    level="standard",
)
def gelu_into_gaps_is_another() -> None:
    """gelu(out=) writes the values of the other approximation where out= has gaps or is transposed,
    which the kernel of PyTorch's CPU leaves unwritten."""

    @replace("gelu.out")
    def _(_gelu, x, *, approximate="none", out):
        if not out.is_contiguous():
            approximate = "tanh" if approximate == "none" else "none"
        return out.resize_(x.shape).copy_(torch.nn.functional.gelu(x, approximate=approximate))


@defect(
    "operators",
    "nn.functional.layer_norm/float32/backward",
    says="gradient 0: Mismatched elements",
    level="standard",
)
def layer_norm_backward_in_half() -> None:
    """The gradient of layer_norm is rounded to float16 on its way."""

    @replace("native_layer_norm_backward")
    def _(backward, *args):
        return [None if each is None else each.half().to(each.dtype) for each in backward(*args)]


@defect("sparse", "computes_what_the_cpu_computes[CSR]", says="unitriangular=True")
def triangular_systems_have_their_own_diagonal() -> None:
    """What stands on the diagonal of a sparse system counts also where it is to be ones."""

    @replace("triangular_solve", key="SparseCsrPrivateUse1")
    def _(solve, right, matrix, upper=True, transpose=False, unitriangular=False):
        return solve(right, matrix, upper, transpose, False)


@defect("values", "two_dtypes_are_promoted[add]", says="float32 and torch.complex64")
def sums_keep_the_first_dtype() -> None:
    """x + y is of the dtype of x where both have dimensions."""

    @replace("add.Tensor")
    def _(add, x, y, *, alpha=1):
        like = x if isinstance(x, torch.Tensor) else y
        sum = add(*(number_as_tensor(each, like) for each in (x, y)), alpha=alpha)
        return sum.to(like.dtype) if isinstance(y, torch.Tensor) and y.dim() else sum


@defect("values", "two_dtypes_are_promoted[ldexp]", says="RuntimeError: no entry for the device")
def ldexp_needs_one_dtype() -> None:
    """ldexp of a float and an integer raises."""

    @replace("ldexp.Tensor")
    def _(ldexp, x, y):
        if x.dtype.is_floating_point != y.dtype.is_floating_point:
            raise RuntimeError("no entry for the device")
        return ldexp(x, y)
