"""Names for somebody who has mistyped one."""

import difflib
from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str:
    """` Did you mean a, b?`, or nothing."""
    found = difflib.get_close_matches(name, list(known), n=4, cutoff=0.6)
    return f" Did you mean {', '.join(found)}?" if found else ""
