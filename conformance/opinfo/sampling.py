"""The samples of an operator, and faithful copies of them on a device."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.nn.utils.rnn import PackedSequence
from torch.testing._internal import common_utils
from torch.testing._internal.opinfo import core
from torch.utils import _pytree as pytree

from .described import Described
from .judging import WIDER, widened


def seed_everything(seed: int) -> None:
    """Python's, NumPy's and torch's generators, those of the device included."""
    random.seed(seed)
    torch.manual_seed(seed)
    try:
        import numpy

        numpy.random.seed(seed)
    except ImportError:
        pass


def seed_torch(seed: int) -> None:
    """The generators of the CPU and of the accelerator, all its devices.

    torch.manual_seed notes the seed for CUDA, XPU and MTIA as well, each time with a stack trace
    and for ever where they are absent: half of the time of a run.
    """
    torch.default_generator.manual_seed(seed)
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is not None:
        torch.get_device_module(accelerator).manual_seed_all(seed)


def note_no_seeds() -> None:
    """For the rest of this process: OpInfos call torch.manual_seed itself, for each sample and in
    many a call. It goes on seeding the CPU and the accelerator that is there."""
    for absent in (torch.cuda, torch.xpu, torch.mtia):
        if not absent.is_available():
            absent.manual_seed_all = _ignore


def _ignore(seed: int) -> None:
    pass


@functools.lru_cache(maxsize=2)  # of one operator, with gradients and without, for all phases
def samples_of(
    op: Described, count: int | None, seed: int, *, requires_grad: bool
) -> list[core.SampleInput]:
    """The first `count` samples, or all, made on the CPU; by `seed` the same. Only to copy."""
    seed_everything(seed)
    with _of_no_test():
        samples = op.info.sample_inputs("cpu", op.dtype, requires_grad=requires_grad)
        return list(itertools.islice(samples, count))


@contextlib.contextmanager
def _of_no_test() -> Iterator[None]:
    """Spares OpInfos their search for the method of unittest's that asks for samples, of which
    there is none: it reads the source of every frame, twice for each list of samples, which takes
    longer than all else in a run."""
    with contextlib.ExitStack() as patches:
        for module in (common_utils, core):
            found = mock.patch.object(module, "extract_test_fn", lambda: None, create=True)
            patches.enter_context(found)
        yield


@dataclasses.dataclass(frozen=True)
class Call:
    """One sample's arguments, all on one device."""

    input: Any
    args: tuple
    kwargs: dict
    process: Callable[[Any], Any]  # keeps what is well defined, such as |U| of a decomposition

    def tensors(self) -> list[torch.Tensor]:
        leaves = pytree.tree_leaves((self.input, self.args, self.kwargs))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def place(
    sample: core.SampleInput, device: torch.device, *, only_input: bool = False, wide: bool = False
) -> Call:
    """A copy of `sample` with tensors, and arguments that name the CPU, on `device`; `wide`: with
    float64 and complex128 in place of narrower floats.

    Copies also where `device` is the CPU: an operator may change its arguments. Tensors keep sizes,
    and strides; one that occurs twice does so in the copy.
    """
    move = Mover(device, wide=wide)
    input_ = move(sample.input)
    if only_input:
        move = Mover(torch.device("cpu"), move.placed, wide=wide)
    args, kwargs = move(sample.args), move(sample.kwargs)
    return Call(input_, args, kwargs, sample.output_process_fn_grad)


class Mover:
    """Copies trees of arguments to `device`; a tensor that occurs twice does so in the copies."""

    def __init__(
        self,
        device: torch.device,
        placed: dict[int, torch.Tensor] | None = None,
        *,
        wide: bool = False,
    ):
        self._device = device
        self._wide = wide
        self.placed = {} if placed is None else placed

    def __call__(self, tree: Any) -> Any:
        return pytree.tree_map(self._leaf, tree, is_leaf=_moves_as_a_whole)

    def _leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            if id(leaf) not in self.placed:
                given = widened(leaf) if self._wide else leaf
                self.placed[id(leaf)] = copy_to(given, self._device)
            return self.placed[id(leaf)]
        if isinstance(leaf, torch.nn.Module):
            moved = copy.deepcopy(leaf).to(self._device)
            return moved._apply(widened) if self._wide else moved
        if isinstance(leaf, torch.dtype):
            return WIDER.get(leaf, leaf) if self._wide else leaf
        if isinstance(leaf, PackedSequence):  # its batch_sizes stay on the CPU
            data, batch_sizes, *indices = leaf
            return PackedSequence(self(data), batch_sizes.clone(), *map(self, indices))
        names_cpu = isinstance(leaf, (str, torch.device)) and str(leaf) == "cpu"
        return self._device if names_cpu else leaf


def _moves_as_a_whole(node: Any) -> bool:
    """What is not the sum of its tensors."""
    return isinstance(node, (torch.nn.Module, PackedSequence))


def copy_to(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A leaf on `device` with the same values, layout in memory and requires_grad."""
    with torch.no_grad():
        return _copy(tensor.detach(), device).detach().requires_grad_(tensor.requires_grad)


def _copy(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    if tensor.is_conj():
        return _copy(tensor.conj(), device).conj()
    if tensor.is_neg():
        return torch._neg_view(_copy(torch._neg_view(tensor), device))
    if tensor.layout != torch.strided or (tensor.is_contiguous() and not tensor.storage_offset()):
        return tensor.to(device, copy=True)
    flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    moved = flat.to(device, copy=True)
    return moved.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
