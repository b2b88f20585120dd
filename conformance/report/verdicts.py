"""The verdicts as reports order and mark them: the worst first, each with a letter.

The letter stands beside the colour everywhere, for who does not tell the colours apart.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A verdict of the document.

    Args:
        name: as the document spells it.
        letter: its mark in the heat map.
        counted: how a count of it reads, after the number.
        meaning: a sentence for the legend.
    """

    name: str
    letter: str
    counted: str
    meaning: str


WORST_FIRST = (
    Verdict("crash", "C", "crash", "It ended its process, or left it broken."),
    Verdict("timeout", "T", "timeout", "It did not end in its time."),
    Verdict("fail", "F", "fail", "What PyTorch promises does not hold."),
    Verdict("expected", "E", "expected", "It fails, and is listed with a reason."),
    Verdict("unsupported", "U", "declared unsupported", "The backend says that it lacks it."),
    Verdict("pass", "·", "pass", "What PyTorch promises holds."),
    # It says nothing of the backend: a pass beside it is the worst that is known.
    Verdict("skipped", "S", "skipped", "This torch or machine cannot show it."),
)

BY_NAME = {verdict.name: verdict for verdict in WORST_FIRST}
_RANK = {verdict.name: rank for rank, verdict in enumerate(WORST_FIRST)}

# The order in which a line of counts reads.
READING_ORDER = tuple(
    BY_NAME[name]
    for name in ("pass", "fail", "crash", "timeout", "expected", "unsupported", "skipped")
)


def rank(name: str) -> int:
    """Smaller is worse."""
    return _RANK[name]


def worst(names: Iterable[str]) -> str:
    """The worst of some verdicts, of which there is one at least."""
    return min(names, key=rank)
