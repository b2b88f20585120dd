"""Compares a run with a committed result file: what passed there has to pass here."""

from __future__ import annotations

import dataclasses
from typing import Any

from .settings import PHASES, Settings


class NotComparable(ValueError):
    """Two documents that say nothing about each other."""


@dataclasses.dataclass(frozen=True)
class Change:
    op: str
    phase: str
    before: str
    now: str


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`regressions` fail the gate; `improvements` ask for a new file."""

    compared: int
    regressions: list[Change]
    improvements: list[Change]


def settings_of(baseline: dict[str, Any], settings: Settings) -> Settings:
    """`settings` with everything that decides a result taken from the baseline."""
    recorded = baseline["settings"]
    same = ("dtype", "other_dtypes", "samples", "seed", "rtol", "atol", "op_db")
    return dataclasses.replace(settings, **{name: recorded[name] for name in same})


def compare(baseline: dict[str, Any], document: dict[str, Any]) -> Verdict:
    """Over the operators of `document`; all of the baseline's, where `document` is a full run."""
    was, is_now = _torch_release(baseline), _torch_release(document)
    if was != is_now:
        raise NotComparable(f"the committed results are of torch {was}, this is torch {is_now}")
    names = set(document["ops"])
    full = document["settings"]
    if not full["ops"] and full["shard"] == "1/1":
        names |= set(baseline["ops"])
    changes = []
    for name in sorted(names):
        for phase in PHASES:
            before = _status(baseline, name, phase)
            now = _status(document, name, phase)
            if before != now and "passed" in (before, now):
                changes.append(Change(name, phase, before, now))
    regressions = [change for change in changes if change.before == "passed"]
    return Verdict(len(names), regressions, [c for c in changes if c not in regressions])


def _torch_release(document: dict[str, Any]) -> str:
    """Without the build: 2.13.0+cpu and 2.13.0+cu130 have the same operators."""
    return document["versions"]["torch"].partition("+")[0]


def _status(document: dict[str, Any], name: str, phase: str) -> str:
    return document["ops"].get(name, {}).get(phase, {}).get("status", "absent")
