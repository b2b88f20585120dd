"""All of PyTorch's operators that it has samples of, each with one small sample of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired

sys.path.append(str(Path(__file__).resolve().parents[1]))
from conformance.opinfo.sampling import Call, place  # how the samples are copied to a device

# Of all operators, and of one that takes so long at least that a fixed cost does not decide.
MEAN_LIMIT, LIMIT, LIMITED_NS = 1.06, 1.45, 2000.0
SHOWN = 20
SAMPLES = 12  # that are looked at, for the largest one that is small
LARGEST = 4096  # elements
# Measured again with more time: a short look at hundreds of operators has some bad luck.
AGAIN = 60
SHARE = 0.1  # of a row's seconds, for the first look

SKIPPED = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
    "item", "to_sparse", "sparse.sampled_addmm", "sparse.mm", "masked_select",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Operator:
    name: str
    function: Callable[..., Any]
    sample: Any


def sections(backend: Backend, seconds: float, chosen: str | None = None) -> list[Section]:
    with _quiet():
        rows = [
            row
            for operator in _operators(lambda name: chosen is None or chosen in name)
            if (row := _row(backend, operator, SHARE * seconds)) is not None
        ]
        worst = sorted(rows, key=_ratio, reverse=True)[:AGAIN]
        names = {row.name for row in worst}
        again = {
            operator.name: _row(backend, operator, seconds)
            for operator in _operators(names.__contains__)
        }
    rows = [again.get(row.name) or row for row in rows]
    rows.sort(key=_ratio, reverse=True)
    limit = MEAN_LIMIT if backend.is_in_place else None
    title = f"{len(rows)} operators on small samples, float32; the worst {SHOWN}"
    return [Section(title, rows, True, limit, shown=SHOWN)]


def _row(backend: Backend, operator: Operator, seconds: float) -> Row | None:
    """None where the operator does not run twice with the same arguments on both."""
    here, cpu = _code(operator, backend.device), _code(operator, torch.device("cpu"))
    try:
        for code in (here, cpu):
            code.compiled()(2)
        measured = paired(dataclasses.replace(here, settle=backend.settle), cpu, seconds)
    except Exception:
        return None
    is_limited = backend.is_in_place and (measured.reference_ns or 0) >= LIMITED_NS
    return Row(operator.name, "the same on the CPU", measured, limit=LIMIT if is_limited else None)


def _code(operator: Operator, device: torch.device) -> Code:
    call = place(operator.sample, device)
    values = {
        "run": operator.function,
        "input": call.input,
        "args": call.args,
        "kwargs": call.kwargs,
    }
    return Code("run(input, *args, **kwargs)", values)


def _operators(is_chosen: Callable[[str], bool]) -> Iterator[Operator]:
    """Samples are made of the chosen ones alone: of all, that takes seconds."""
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        if info.name in SKIPPED or torch.float32 not in info.supported_dtypes("cpu"):
            continue
        variant = f".{info.variant_test_name}" if info.variant_test_name else ""
        name = info.name + variant
        if is_chosen(name) and (sample := _sample(info)) is not None:
            yield Operator(name, info.op, sample)


def _sample(info: Any) -> Any:
    """The largest of the first samples that is still small."""
    random.seed(0)
    torch.manual_seed(0)
    try:
        made = info.sample_inputs("cpu", torch.float32, requires_grad=False)
        samples = list(itertools.islice(made, SAMPLES))
    except Exception:
        return None
    sizes = [(_elements(sample), -i) for i, sample in enumerate(samples)]
    fitting = [size for size in sizes if size[0] <= LARGEST]
    return samples[-max(fitting)[1]] if fitting else None


def _elements(sample: Any) -> int:
    call = Call(sample.input, sample.args, sample.kwargs, lambda result: result)
    return sum(tensor.numel() for tensor in call.tensors())


def _ratio(row: Row) -> float:
    return row.measured.ratio or 0.0


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        yield
