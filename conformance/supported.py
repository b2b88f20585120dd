"""Which torch Outback supports, and what a report says where another one runs."""

from __future__ import annotations

import re

OLDEST, NEWEST = "2.11", "2.15"  # docs/versions.md has the rest


def remark(torch: str) -> str:
    """Of a version of torch; "" for one that is supported, or has no number."""
    found = re.match(r"(\d+)\.(\d+)", torch)
    if found is None:
        return ""
    minor = (int(found[1]), int(found[2]))
    if _minor(OLDEST) <= minor <= _minor(NEWEST):
        return ""
    than = "older" if minor < _minor(OLDEST) else "newer"
    return f"torch {torch} is {than} than the supported {OLDEST} to {NEWEST}"


def _minor(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
