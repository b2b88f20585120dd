"""What backward starts from: the same fixed cotangents on the CPU and on the device."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree


def requiring_grad(tree: Any) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]


def cotangents_of(outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [_cotangent(output, seed) for seed, output in enumerate(outputs)]


def _cotangent(output: torch.Tensor, seed: int) -> torch.Tensor:
    if output.layout != torch.strided:
        return torch.ones_like(output)
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(output.shape, generator=generator, dtype=output.dtype)
    return drawn.to(output.device)
