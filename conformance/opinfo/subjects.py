"""What the harness checks: an operator with a dtype, a module, an optimizer."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch

from ..catalog import KINDS
from ..device import find as find_device
from .calls import Sides, depends_on_seed
from .comparing import Comparison
from .exemptions import Exemptions, Named, find
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

_SUITES = {kind: suite for suite, kind in KINDS.items()}
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
    sides: Sides

    @classmethod
    def of(cls, settings: Settings, announce: Callable[[str], None]) -> Bench:
        """`announce` is told whose turn it is, "cpu" or "device"."""
        exemptions = Exemptions.load(settings.exemptions)
        device = find_device(settings.device)
        return cls(settings, device, exemptions, Sides(announce, device))

    def comparison(
        self, subject: Subject, phase: str, entry: Entry, answer: Callable[[], Any]
    ) -> Comparison:
        """What `subject` has to agree in; `answer` is the CPU's, asked whether it is random."""
        exempt = self.exemptions
        settings = self.settings
        ignored = find(exempt.uninitialised, subject, phase)
        if ignored is None:
            ignored = find(exempt.random, subject, phase)
            if ignored is not None and not depends_on_seed(answer):
                ignored = None
        if ignored is not None:
            entry["values_ignored"] = ignored.reason
            return Comparison(self.device, values=False, entry=entry)
        rtol, atol = settings.rtol, settings.atol
        if exemption := find(exempt.tolerance, subject, phase):
            entry["tolerance"] = exemption.reason
            rtol, atol = exemption.rtol, exemption.atol
        id = f"{_SUITES[subject.kind]}/{subject.name}/{dtype_name(subject)}/{phase}"
        given = next((each for each in settings.tolerances if each.speaks_for(id)), None)
        return Comparison(self.device, rtol=rtol, atol=atol, wider=given, entry=entry)


class Subject(Named, Protocol):
    """What all kinds have in common; `dtype` is None where the CPU has none to compare with."""

    kind: str

    @property
    def phases(self) -> tuple[str, ...]: ...

    def cases(self, phase: str, bench: Bench) -> Iterator[Case]: ...


def dtype_name(subject: Subject) -> str:
    return "none" if subject.dtype is None else str(subject.dtype).removeprefix("torch.")


def key_of(subject: Subject) -> str:
    """Unique in a catalog, and what events and plans call a subject."""
    return f"{subject.kind}/{subject.name}/{dtype_name(subject)}"


def describe(subject: Subject, settings: Settings) -> dict[str, Any]:
    """The part of the result file that is known before anything has run."""
    asked = settings.phases(subject.kind)
    return {
        "key": key_of(subject),
        "kind": subject.kind,
        "name": subject.name,
        "dtype": dtype_name(subject),
        "phases": [phase for phase in subject.phases if phase in asked],
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
