"""Compares a run with a committed result file: what passed there has to pass here.

What does not pass can only become less: nothing may fail that has not failed before, and what has
may not turn into a crash or a hang. Nor may a pass be had by comparing less, nor a failure mended
by its disappearance: what is in the file and not in a full run is a regression, whatever it was.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from . import results
from .settings import Settings

_ABSENT = "absent"
# From good to bad. A change to the right is a regression, to the left an improvement.
_ORDER = (
    "passed",
    "passed by float64",
    "passed within a wider tolerance",
    "passed without values",
    "refused",
    "skipped",
    "unsupported_dtype",
    _ABSENT,
    "failed",
)
_ENDS = ("crashed", "timed_out")


class NotComparable(ValueError):
    """Two documents that say nothing about each other."""


@dataclasses.dataclass(frozen=True)
class Change:
    kind: str
    name: str
    dtype: str
    phase: str
    before: str
    now: str

    @property
    def worse(self) -> bool:
        return self.now == _ABSENT or _rank(self.now) > _rank(self.before)

    def __str__(self) -> str:
        return f"{self.name}, {self.dtype}, {self.phase}"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`regressions` fail the gate; `improvements` ask for a new file."""

    compared: int
    regressions: list[Change]
    improvements: list[Change]


def settings_of(baseline: dict[str, Any], settings: Settings) -> Settings:
    """`settings` with everything that decides a result taken from the baseline."""
    recorded = baseline["settings"]
    same = ("other_dtypes", "samples", "seed", "rtol", "atol", "op_db", "module_db", "optim_db")
    return dataclasses.replace(
        settings,
        kinds=tuple(recorded["kinds"]),
        dtypes=tuple(recorded["dtypes"]),
        op_phases=results.phases_of(baseline, "ops"),
        **{name: recorded[name] for name in same},
    )


def compare(baseline: dict[str, Any], document: dict[str, Any]) -> Verdict:
    """Over the entries of `document`; all of the baseline's, where `document` is a full run."""
    was, is_now = _torch_release(baseline), _torch_release(document)
    if was != is_now:
        raise NotComparable(f"the committed results are of torch {was}, this is torch {is_now}")
    before, now = _statuses(baseline), _statuses(document)
    addresses = set(now)
    full = document["settings"]
    if not full["ops"] and full["shard"] == "1/1":
        addresses |= set(before)
    changes = [
        Change(*address, before.get(address, _ABSENT), now.get(address, _ABSENT))
        for address in sorted(addresses)
    ]
    changes = [change for change in changes if _rank(change.before) != _rank(change.now)]
    return Verdict(
        len(addresses),
        [change for change in changes if change.worse],
        [change for change in changes if not change.worse],
    )


def _rank(status: str) -> int:
    return len(_ORDER) if status in _ENDS else _ORDER.index(status)


def _torch_release(document: dict[str, Any]) -> str:
    """Without the build: 2.13.0+cpu and 2.13.0+cu130 have the same operators."""
    return document["versions"]["torch"].partition("+")[0]


def _statuses(document: dict[str, Any]) -> dict[tuple[str, str, str, str], str]:
    return {address: _status(entry) for address, entry in results.entries(document)}


def _status(entry: dict[str, Any]) -> str:
    if entry["status"] == "passed" and "values_ignored" in entry:
        return "passed without values"
    if entry["status"] == "passed" and ("tolerance" in entry or "loosened" in entry):
        return "passed within a wider tolerance"
    if entry["status"] == "passed" and ("by_float64" in entry or "functional_form" in entry):
        return "passed by float64"
    return entry["status"]
