"""Which tests each level runs: they are too many for a minute, and for some minutes as well."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..item import Item
from ..opinfo.settings import DTYPES
from .naming import has_only

_QUICK_FILES = 5  # the first of the table that there are
_QUICK_TESTS = 40  # of each


def files_of(level: str, files: Sequence[str], chosen: bool) -> tuple[str, ...]:
    """`chosen` files all run."""
    return tuple(files if chosen or level != "quick" else files[:_QUICK_FILES])


def tests_of(level: str, items: Sequence[Item]) -> list[Item]:
    """Of one file. The same ones each time."""
    if level == "full":
        return list(items)
    found = [each for each in items if has_only(each.dtype, DTYPES)]
    if level == "quick":
        found = [each for each in found if each.dtype in ("", "float32")]
        found = found[:: max(1, math.ceil(len(found) / _QUICK_TESTS))]  # from all over the file
    return found


def said(level: str) -> str:
    """What of a file's tests that is, in words."""
    return {
        "quick": f"at most {_QUICK_TESTS} of a file, of those with float32 or without dtypes",
        "standard": f"those with {', '.join(DTYPES)} or without dtypes",
        "full": "all of them",
    }[level]
