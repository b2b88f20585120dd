"""Operators on a device whose memory the CPU cannot address, against what they are made of."""

from __future__ import annotations

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired

ELEMENTS = 1 << 20
LIMIT = 1.5

# What a user writes, and the copies and the CPU's operator by hand.
OPERATORS = {
    "exp": ("x.exp()", "result.copy_(host.copy_(x).exp())"),
    "softmax": ("x.softmax(-1)", "result.copy_(host.copy_(x).softmax(-1))"),
    "add": ("x + y", "result.copy_(host.copy_(x) + other.copy_(y))"),
    "mul_": ("x.mul_(1)", "x.copy_(host.copy_(x).mul_(1))"),
    "sum": ("x.sum()", "number.copy_(host.copy_(x).sum())"),
}


def sections(backend: Backend, seconds: float) -> list[Section]:
    """Nothing where operators run in place."""
    if backend.is_in_place:
        return []
    size = int(ELEMENTS**0.5)
    values = {name: torch.rand(size, size, device=backend.device) for name in ("x", "y", "result")}
    values |= {name: torch.empty(size, size).pin_memory() for name in ("host", "other")}
    values["number"] = torch.zeros((), device=backend.device)
    rows = [
        Row(
            name,
            "the copies and the CPU's own",
            paired(
                Code(statement, values, backend.settle),
                Code(by_hand, values, backend.settle),
                seconds,
            ),
            limit=LIMIT,
        )
        for name, (statement, by_hand) in OPERATORS.items()
    ]
    return [Section(f"operators over copies, {ELEMENTS} elements, float32", rows)]
