"""Everyday operators, on matrices so small that only the overhead shows, and on larger ones."""

from __future__ import annotations

from typing import Any

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired
from torch.nn import functional

# Statements as a user writes them, over the names of `values`.
OPERATORS = {
    "add": "a + b",
    "add_": "c.add_(zeros)",
    "mul": "a * b",
    "sub": "a - b",
    "div": "a / b",
    "mm": "torch.mm(a, b)",
    "addmm": "torch.addmm(row, a, b)",
    "linear": "linear(a, b, row)",
    "relu": "torch.relu(a)",
    "softmax": "torch.softmax(a, -1)",
    "layer_norm": "layer_norm(a, shape, row, row)",
    "sum": "a.sum()",
    "mean": "a.mean()",
    "cat": "torch.cat((a, b))",
    "copy_": "c.copy_(a)",
    "fill_": "c.fill_(1.0)",
    "empty": "torch.empty(sizes, device=device)",
    "view": "a.view(-1)",
    "transpose + contiguous": "a.t().contiguous()",
    "embedding": "embedding(indices, a)",
}


# What running the CPU's kernels on the device may cost: where they do, so not over copies. By the
# size of the matrices: of one operator, and of the geometric mean of all.
LIMITS = {4: (1.35, 1.10), 1024: (None, 1.03)}


def sections(backend: Backend, sizes: list[int], seconds: float) -> list[Section]:
    return [_section(backend, size, seconds) for size in sizes]


def _section(backend: Backend, size: int, seconds: float) -> Section:
    here, cpu = values(size, backend.device), values(size, torch.device("cpu"))
    limit, mean_limit = LIMITS.get(size, (None, None)) if backend.is_in_place else (None, None)
    rows = [
        Row(
            name,
            "the same on the CPU",
            paired(Code(statement, here, backend.settle), Code(statement, cpu), seconds),
            limit=limit,
        )
        for name, statement in OPERATORS.items()
    ]
    return Section(f"operators, {size} x {size}, float32", rows, True, mean_limit)


def values(size: int, device: torch.device) -> dict[str, Any]:
    """The same numbers on every device."""
    generator = torch.Generator().manual_seed(0)

    def matrix() -> torch.Tensor:
        return torch.randn(size, size, generator=generator).to(device)

    return {
        "torch": torch,
        "linear": functional.linear,
        "layer_norm": functional.layer_norm,
        "embedding": functional.embedding,
        "device": device,
        "sizes": (size, size),
        "shape": (size,),
        "a": matrix(),
        "b": matrix(),
        "c": matrix(),
        "zeros": torch.zeros(size, size).to(device),
        "row": torch.randn(size, generator=generator).to(device),
        "indices": torch.randint(size, (size,), generator=generator).to(device),
    }
