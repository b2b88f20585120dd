"""Everyday operators by portable kernels, on a device whose memory the CPU cannot address: what
they take above the same on the CPU and a launch of the runtime's own."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import operators
import torch
from backend import Backend
from rows import Section
from runtime import REPETITIONS, row_of
from timing import Code, paired

SIZE = 4
# Nanoseconds above: of an operator, and of all on average.
LIMIT, MEAN_LIMIT = 3000.0, 1500.0
LAUNCHES_NOTHING = ("copy_", "fill_", "empty", "view")

# The same operator of torch.ops, which launches a kernel that does nothing or not.
_LAUNCH = "torch.ops.outback_bench.launch_nothing.default(a, True)"
_NO_LAUNCH = "torch.ops.outback_bench.launch_nothing.default(a, False)"


def sections(backend: Backend, seconds: float) -> list[Section]:
    """Nothing where operators run in place or over copies."""
    here = operators.values(SIZE, backend.device)
    if backend.is_in_place or not _is_portable(backend, here):
        return []
    above = {
        name: _above(backend, statement, here, seconds, name in LAUNCHES_NOTHING)
        for name, statement in operators.OPERATORS.items()
    }
    rows = [row_of(name, "3 µs", took, LIMIT, limit=1.0) for name, took in above.items()]
    means = [statistics.mean(each) for each in zip(*above.values(), strict=True)]
    rows.append(row_of("all, on average", "1.5 µs", means, MEAN_LIMIT, limit=1.0))
    title = f"portable kernels, {SIZE} x {SIZE}, float32: above the CPU's time and a launch"
    return [Section(title, rows)]


def _is_portable(backend: Backend, values: dict[str, Any]) -> bool:
    exec(operators.OPERATORS["add"], dict(values))
    return "aten::add.Tensor" not in backend.module.fallback_stats()


def _above(
    backend: Backend, statement: str, here: dict[str, Any], seconds: float, launches_nothing: bool
) -> list[float]:
    """Nanoseconds. A launch costs more where the runtime's thread sleeps meanwhile, which changes
    within a second: each time has a launch's of the same moment."""
    cpu = operators.values(SIZE, torch.device("cpu"))
    ours, reference = Code(statement, here, backend.settle), Code(statement, cpu)
    launch, none = (Code(each, here, backend.settle) for each in (_LAUNCH, _NO_LAUNCH))
    times = []
    for _ in itertools.repeat(None, REPETITIONS):
        above = _difference(ours, reference, seconds)
        times.append(above if launches_nothing else above - _difference(launch, none, seconds))
    return times


def _difference(subject: Code, reference: Code, seconds: float) -> float:
    measured = paired(subject, reference, seconds / REPETITIONS)
    return measured.ns - measured.reference_ns
