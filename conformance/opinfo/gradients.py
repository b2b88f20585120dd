"""What backward starts from: the same fixed cotangents on the CPU and on the device."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree


def requiring_grad(tree: Any) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]


def cotangents_of(outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [_cotangent(output, seed) for seed, output in enumerate(outputs)]


@contextlib.contextmanager
def in_float64(narrow: torch.dtype) -> Iterator[None]:
    """Inside, the cotangents of float64 are those that outputs of `narrow` have outside."""
    if narrow.is_complex or narrow.is_floating_point:
        _DRAWN_AS.update({torch.float64: narrow.to_real(), torch.complex128: narrow.to_complex()})
    try:
        yield
    finally:
        _DRAWN_AS.clear()


_DRAWN_AS: dict[torch.dtype, torch.dtype] = {}  # the numbers that are drawn depend on the dtype


def _cotangent(output: torch.Tensor, seed: int) -> torch.Tensor:
    if output.layout != torch.strided:
        return torch.ones_like(output)
    generator = torch.Generator().manual_seed(seed)
    dtype = _DRAWN_AS.get(output.dtype, output.dtype)
    drawn = torch.randn(output.shape, generator=generator, dtype=dtype)
    return drawn.to(output.device, output.dtype)
