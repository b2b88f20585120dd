"""The same samples in other forms: with gaps in memory, with nothing in them, without dimensions,
conjugated or negated only by a bit.

What an operator documents for its samples need not hold for these. Where the CPU refuses one, the
device has to refuse it as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.testing._internal.common_utils import noncontiguous_like
from torch.utils import _pytree as pytree

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import SampleInput

_SIGNED = (
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8),
)
Form = Callable[[torch.Tensor], torch.Tensor]


def noncontiguous(sample: SampleInput) -> Iterator[SampleInput]:
    """Every second element of twice the memory; what lies between is not a number, or 12."""
    if any(tensor.is_contiguous() for tensor in _tensors(_arguments(sample))):
        yield _with(sample, noncontiguous_like)


def empty(sample: SampleInput) -> Iterator[SampleInput]:
    """For each size in the first tensor: all dimensions of that size, in all tensors, become 0.

    Dimensions that have to agree with one another have the same size, and so they still agree.
    """
    first = next(iter(_tensors(_arguments(sample))), None)
    for size in dict.fromkeys(() if first is None else first.shape):
        if size:
            yield _with(sample, lambda tensor, size=size: _emptied(tensor, size))


def zero_dim(sample: SampleInput) -> Iterator[SampleInput]:
    """The first element of the first argument, as a tensor without dimensions; then of all."""
    whole = _tensors(_arguments(sample))
    first = _tensors(sample.input)
    if any(map(_has_elements, first)):
        yield _with(sample, _scalar, only_input=True)
    if any(map(_has_elements, whole)) and len(whole) > len(first):
        yield _with(sample, _scalar)


def conj_neg(sample: SampleInput) -> Iterator[SampleInput]:
    """Tensors whose memory holds the conjugates, and ones whose memory holds the negatives.

    Those of the first one's dtype: nobody has indices and lengths in such a form, and kernels of
    the CPU read past the bit.
    """
    first = next(iter(_tensors(_arguments(sample))), None)
    if first is None:
        return
    if first.is_complex():
        yield _with(sample, lambda tensor: _of_dtype(first.dtype, tensor, _conjugated))
    if first.is_complex() or first.dtype in _SIGNED:
        yield _with(sample, lambda tensor: _of_dtype(first.dtype, tensor, _negated))


OF_A_SAMPLE: dict[str, Callable[[SampleInput], Iterator[SampleInput]]] = {
    "noncontiguous": noncontiguous,
    "empty": empty,
    "zero_dim": zero_dim,
    "conj_neg": conj_neg,
}


def _has_elements(tensor: torch.Tensor) -> bool:
    """Whether there is a scalar to take that is not the tensor already."""
    return tensor.dim() > 0 and tensor.numel() > 0


def _emptied(tensor: torch.Tensor, size: int) -> torch.Tensor:
    if size not in tensor.shape:
        return tensor
    return tensor.new_empty([0 if n == size else n for n in tensor.shape])


def _scalar(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flatten()[0].clone() if _has_elements(tensor) else tensor


def _of_dtype(dtype: torch.dtype, tensor: torch.Tensor, form: Form) -> torch.Tensor:
    return form(tensor) if tensor.dtype == dtype else tensor


def _conjugated(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.conj().resolve_conj().conj()


def _negated(tensor: torch.Tensor) -> torch.Tensor:
    return torch._neg_view(tensor.neg())


def _arguments(sample: SampleInput) -> Any:
    return sample.input, sample.args, sample.kwargs


def _tensors(tree: Any) -> list[torch.Tensor]:
    """The ones that have strides; others, such as sparse ones, keep their form."""
    leaves = pytree.tree_leaves(tree)
    return [x for x in leaves if isinstance(x, torch.Tensor) and x.layout == torch.strided]


def _with(sample: SampleInput, form: Form, *, only_input: bool = False) -> SampleInput:
    """`sample` with every tensor in another form; one that occurs twice still does."""
    formed: dict[int, torch.Tensor] = {}

    def replace(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.layout != torch.strided:
            return leaf
        if id(leaf) not in formed:
            with torch.no_grad():
                made = form(leaf.detach()).detach().requires_grad_(leaf.requires_grad)
            formed[id(leaf)] = made
        return formed[id(leaf)]

    input_ = pytree.tree_map(replace, sample.input)
    rest = sample.args, sample.kwargs
    args, kwargs = rest if only_input else pytree.tree_map(replace, rest)
    return type(sample)(
        input_, args=args, kwargs=kwargs, output_process_fn_grad=sample.output_process_fn_grad
    )
