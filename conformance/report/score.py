"""The score: what passed of what counts, which leaves out the unsupported and the skipped."""

from __future__ import annotations

import math
from collections.abc import Mapping

COUNTING = ("pass", "fail", "crash", "timeout", "expected")


def counting(totals: Mapping[str, int]) -> int:
    """How many entries a score is about."""
    return sum(totals.get(name, 0) for name in COUNTING)


def of(totals: Mapping[str, int]) -> float | None:
    """In percent; None where nothing counts, which is no score rather than a good one."""
    count = counting(totals)
    return 100 * totals.get("pass", 0) / count if count else None


def shown(score: float | None) -> str:
    """Rounded down to a tenth: 100 % is for runs in which nothing failed."""
    if score is None:
        return "no score"
    tenths = math.floor(score * 10 + 1e-9)
    return "100 %" if tenths == 1000 else f"{tenths // 10}.{tenths % 10} %"
