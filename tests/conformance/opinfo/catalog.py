"""Which operators there are, and the dtype that each one runs with."""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING

import torch

from .settings import PHASES

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo

    from .settings import Settings

# Tried in this order where an operator lacks the dtype that was asked for.
OTHER_DTYPES = (
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
)


@dataclasses.dataclass(frozen=True)
class Operator:
    """One OpInfo under a unique name; `dtype` is None where the CPU has none to compare with."""

    name: str
    info: OpInfo
    dtype: torch.dtype | None

    @property
    def differentiable(self) -> bool:
        return (
            self.dtype is not None
            and (self.dtype.is_floating_point or self.dtype.is_complex)
            and self.info.supports_autograd
            and self.dtype in self.info.supported_backward_dtypes("cpu")
        )

    @property
    def phases(self) -> tuple[str, ...]:
        """Those that make sense for it; without a dtype only forward, which then says so."""
        if self.dtype is None:
            return ("forward",)
        has = {
            "forward": True,
            "backward": self.differentiable,
            "inplace": self.info.get_inplace() is not None,
            "out": self.info.supports_out,
        }
        return tuple(phase for phase in PHASES if has[phase])

    def describe(self) -> dict:
        """The part of the result file that is known before anything has run."""
        dtype = None if self.dtype is None else str(self.dtype).removeprefix("torch.")
        return {"name": self.name, "dtype": dtype, "phases": self.phases}


def name_of(info: OpInfo) -> str:
    """Unique within an op_db: the name, and the variant's after a dot."""
    variant = info.variant_test_name.replace(" ", "_")
    return f"{info.name}.{variant}" if variant else info.name


def load(settings: Settings) -> list[Operator]:
    """All operators of `settings.op_db`, sorted by name."""
    module, _, attribute = settings.op_db.partition(":")
    wanted = getattr(torch, settings.dtype)
    operators = [
        Operator(name_of(info), info, _dtype_of(info, wanted, settings.other_dtypes))
        for info in getattr(importlib.import_module(module), attribute)
    ]
    operators.sort(key=lambda operator: operator.name)
    names = [operator.name for operator in operators]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"{settings.op_db}: the same name twice: {', '.join(twice)}")
    return operators


def select(operators: list[Operator], settings: Settings) -> list[Operator]:
    """The part of a run: by name (one without a variant means all variants), then by shard."""
    if settings.ops:
        known = {name for operator in operators for name in (operator.name, operator.info.name)}
        unknown = [name for name in settings.ops if name not in known]
        if unknown:
            raise ValueError(f"no such operator: {', '.join(unknown)}")
        wanted = set(settings.ops)
        operators = [op for op in operators if op.name in wanted or op.info.name in wanted]
    return settings.shard.of(operators)


def _dtype_of(info: OpInfo, wanted: torch.dtype, others: bool) -> torch.dtype | None:
    supported = info.supported_dtypes("cpu")
    if wanted in supported:
        return wanted
    if not others or not supported:
        return None
    for dtype in OTHER_DTYPES:
        if dtype in supported:
            return dtype
    return min(supported, key=str)
