"""One entry of a run, before it has run."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import catalog
from .levels import LEVELS

_SUITES = {kind: suite for suite, kind in catalog.KINDS.items()}


@dataclasses.dataclass(frozen=True)
class Item:
    """An entry with its address in its source: the key of a subject, and a phase."""

    suite: str
    name: str
    key: str
    phase: str = ""
    dtype: str = ""
    level: str = LEVELS[0]
    alone: bool = False
    about: tuple[tuple[str, str], ...] = ()  # what the document says of it besides

    @property
    def id(self) -> str:
        return "/".join(filter(None, (self.suite, self.name, self.dtype, self.phase)))

    @property
    def address(self) -> tuple[str, str]:
        return self.key, self.phase

    @property
    def is_sample(self) -> bool:
        return self.suite in catalog.KINDS

    def is_of(self, level: str) -> bool:
        return LEVELS.index(self.level) <= LEVELS.index(level)


def of_check(described: dict[str, Any]) -> Item:
    about = ("promise", "called_by", "without", "tier")
    return Item(
        **{name: described[name] for name in ("suite", "name", "key", "level", "alone")},
        about=tuple((name, described[name]) for name in about if described[name]),
    )


def of_sample(described: dict[str, Any]) -> list[Item]:
    suite = _SUITES[described["kind"]]
    dtype = "" if described["dtype"] == "none" else described["dtype"]
    return [
        Item(suite, described["name"], described["key"], phase, dtype)
        for phase in described["phases"]
    ]
