"""Everyday operators by portable kernels, on a device whose memory the CPU cannot address: what
they take above the same on the CPU and a launch of the runtime's own."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import operators
import torch
from backend import Backend
from kernels import bare_launch
from rows import Section
from runtime import REPETITIONS, programs, row_of
from timing import Code, paired

SIZE = 4
# Nanoseconds above: of an operator, and of all on average.
LIMIT, MEAN_LIMIT = 3000.0, 1500.0
LAUNCHES_NOTHING = ("empty", "view")


def sections(backend: Backend, seconds: float) -> list[Section]:
    """Nothing where operators run in place or over copies."""
    folder = programs()
    here = operators.values(SIZE, backend.device)
    if folder is None or backend.is_in_place or not _is_portable(backend, here):
        return []
    launch = statistics.median(bare_launch(folder))
    times = {
        name: _above_the_cpu(backend, statement, here, seconds)
        for name, statement in operators.OPERATORS.items()
    }
    above = {
        name: took if name in LAUNCHES_NOTHING else [ns - launch for ns in took]
        for name, took in times.items()
    }
    rows = [row_of(name, "3 µs", took, LIMIT, limit=1.0) for name, took in above.items()]
    means = [statistics.mean(each) for each in zip(*above.values(), strict=True)]
    rows.append(row_of("all, on average", "1.5 µs", means, MEAN_LIMIT, limit=1.0))
    title = f"portable kernels, {SIZE} x {SIZE}, float32: above the CPU's time and a launch"
    return [Section(title, rows)]


def _is_portable(backend: Backend, values: dict[str, Any]) -> bool:
    exec(operators.OPERATORS["add"], dict(values))
    return "aten::add.Tensor" not in backend.module.fallback_stats()


def _above_the_cpu(
    backend: Backend, statement: str, here: dict[str, Any], seconds: float
) -> list[float]:
    """Nanoseconds, each from rounds in which the two take turns."""
    cpu = operators.values(SIZE, torch.device("cpu"))
    times = []
    for _ in itertools.repeat(None, REPETITIONS):
        ours, reference = Code(statement, here, backend.settle), Code(statement, cpu)
        measured = paired(ours, reference, seconds / REPETITIONS)
        times.append(measured.ns - measured.reference_ns)
    return times
