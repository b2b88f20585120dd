"""What two documents differ in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from .document import Calls, Document


@dataclasses.dataclass(frozen=True)
class Change:
    """Of an operator with a dtype, from whatever place. Zeros and "" where a run has none."""

    name: str
    dtype: str
    served: str
    served_before: str
    calls: int
    calls_before: int
    own_ns: int
    own_ns_before: int


def _served(rows: list) -> str:
    return ", ".join(sorted({row.served for row in rows}))


def changes(before: Document, after: Document) -> list[Change]:
    """The largest change of time first."""
    old, new = _by_operator(before.operators), _by_operator(after.operators)
    found = []
    for name, dtype in {**old, **new}:
        was, now = old.get((name, dtype), []), new.get((name, dtype), [])
        found.append(
            Change(
                name,
                dtype,
                _served(now),
                _served(was),
                *(sum(row.calls for row in rows) for rows in (now, was)),
                *(sum(row.own_ns for row in rows) for rows in (now, was)),
            )
        )
    return sorted(found, key=lambda it: -abs(it.own_ns - it.own_ns_before))


def _by_operator(rows: Iterable[Calls]) -> dict[tuple[str, str], list[Calls]]:
    found: dict[tuple[str, str], list[Calls]] = {}
    for row in rows:
        if row.served != "elsewhere":
            found.setdefault((row.name, row.dtype), []).append(row)
    return found
