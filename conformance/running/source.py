"""What a worker runs: the interface of a source."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

Entry = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Say:
    """Tells the supervisor where a worker is, so that its death has an address."""

    emit: Callable[..., None]

    def loading(self, unit: str, seconds: float = 0.0) -> None:
        """Something of the source's that could end the process before any entry runs; it may take
        that long, where that is longer than an entry may."""
        self.emit("loading", unit=unit, seconds=seconds)

    def sample(self, number: int) -> None:
        self.emit("sample", number=number)

    def side(self, side: str) -> None:
        """Whose turn it is, "cpu" or "device": what the CPU dies of is no failure."""
        self.emit("side", side=side)


class Source(Protocol):
    """What `open(settings, without, say)` of a source's module returns. It may raise Refused."""

    renews: bool  # whether a process in which an entry failed may run no other one

    def describe(self) -> dict[str, Any]:
        """Which subjects there are, and what else is known before anything has run."""
        ...

    def check(self, key: str, phase: str) -> Entry:
        """Runs one entry: a status, and what there is to say about it."""
        ...
