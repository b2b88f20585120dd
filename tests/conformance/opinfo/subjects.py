"""What the harness checks: an operator with a dtype, a module, an optimizer."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch

from .comparing import Comparison
from .exemptions import Exemptions
from .settings import Settings

# Tried in this order where a subject has none of the dtypes that were asked for.
OTHER_DTYPES = (
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
)

Entry = dict[str, Any]
# One sample: compares it, and notes in the entry what is worth knowing. Raises Mismatch, and
# NothingToCompare or SameRefusal where there is no answer to compare.
Case = Callable[[Entry], None]


@dataclasses.dataclass(frozen=True)
class Bench:
    """Where subjects are checked, and how strictly."""

    settings: Settings
    device: torch.device
    exemptions: Exemptions

    @classmethod
    def of(cls, settings: Settings) -> Bench:
        device = _indexed(torch.device(settings.device))
        return cls(settings, device, Exemptions.load(settings.exemptions))

    def comparison(self, values: bool = True) -> Comparison:
        return Comparison(self.device, values, self.settings.rtol, self.settings.atol)


class Subject(Protocol):
    """What all kinds have in common; `dtype` is None where the CPU has none to compare with."""

    kind: str
    name: str
    family: str  # the name without a variant, which stands for all its variants
    dtype: torch.dtype | None

    @property
    def phases(self) -> tuple[str, ...]: ...

    def cases(self, phase: str, bench: Bench) -> Iterator[Case]: ...


def dtype_name(subject: Subject) -> str:
    return "none" if subject.dtype is None else str(subject.dtype).removeprefix("torch.")


def key_of(subject: Subject) -> str:
    """Unique in a catalog, and what events and plans call a subject."""
    return f"{subject.kind}/{subject.name}/{dtype_name(subject)}"


def describe(subject: Subject) -> dict[str, Any]:
    """The part of the result file that is known before anything has run."""
    return {
        "key": key_of(subject),
        "kind": subject.kind,
        "name": subject.name,
        "dtype": dtype_name(subject),
        "phases": subject.phases,
    }


def first_dtype(
    wanted: torch.dtype, supported: set[torch.dtype], others: bool
) -> torch.dtype | None:
    if wanted in supported:
        return wanted
    if not others or not supported:
        return None
    for dtype in OTHER_DTYPES:
        if dtype in supported:
            return dtype
    return min(supported, key=str)


def database(address: str) -> list:
    module, _, attribute = address.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _indexed(device: torch.device) -> torch.device:
    """Results name their device with its index; the CPU is the one that has none."""
    without = device.type == "cpu" or device.index is not None
    return device if without else torch.device(device.type, 0)
