"""What the page's script reads: the heat maps and the findings, small.

A pass is a letter of a heat map and nothing else. Texts are kept once, as many findings share
them, and a finding is a row of their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from . import verdicts

# In this order in a finding's row, after its verdict. `page/logic.js` reads them by the same names.
FIELDS = (
    "suite",
    "name",
    "dtype",
    "phase",
    "tier",
    "message",
    "reason",
    "promise",
    "called_by",
    "without",
    "reproduction",
    "trace",
)

# What gives way first where a run has more to say than a page should weigh: the last of these, of
# the mildest verdicts.
_WEIGHTY = (("message", "reason", "promise", "called_by", "without"), ("reproduction",), ("trace",))
PAGE_TEXT = 1_200_000
ONE_TEXT = 6_000

_DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "complex32",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "uint16",
    "uint32",
    "uint64",
)
_PHASES = (
    "forward",
    "backward",
    "forward_ad",
    "inplace",
    "out",
    "noncontiguous",
    "empty",
    "zero_dim",
)
_TERMINAL_COLOUR = re.compile("\x1b\\[[0-9;]*[A-Za-z]")


def of(document: Mapping) -> dict:
    """The data, JSON's types only."""
    entries = document["entries"]
    texts = _Texts()
    findings = sorted(
        (entry for entry in entries if entry["verdict"] != "pass"),
        key=lambda entry: verdicts.rank(entry["verdict"]),
    )
    rows, left_out = _rows(findings, texts)
    return {
        "verdicts": [[verdict.name, verdict.letter] for verdict in verdicts.WORST_FIRST],
        "fields": FIELDS,
        "texts": texts.all,
        "findings": rows,
        "left_out": left_out,
        "maps": heat_maps(entries),
    }


def heat_maps(entries: Iterable[Mapping]) -> list[dict]:
    """One for each suite that is about dtypes, the largest first.

    A row is a name and its letters: of each dtype, of each phase; a space where nothing ran.
    """
    suites: dict[str, list[Mapping]] = {}
    for entry in entries:
        suites.setdefault(entry["suite"], []).append(entry)
    maps = [
        _heat_map(suite, those)
        for suite, those in suites.items()
        if any(entry.get("dtype") for entry in those)
    ]
    return sorted(maps, key=lambda one: -len(one["rows"]))


def _heat_map(suite: str, entries: list[Mapping]) -> dict:
    dtypes = _ordered({entry.get("dtype") or "" for entry in entries}, _DTYPES)
    phases = _ordered({entry.get("phase") or "" for entry in entries}, _PHASES)
    cells: dict[str, dict[tuple[str, str], list[str]]] = {}
    for entry in entries:
        place = (entry.get("dtype") or "", entry.get("phase") or "")
        cells.setdefault(entry["name"], {}).setdefault(place, []).append(entry["verdict"])
    rows = [
        [name, "".join(_letter(those.get((d, p))) for d in dtypes for p in phases)]
        for name, those in sorted(cells.items())
    ]
    return {"suite": suite, "dtypes": dtypes, "phases": phases, "rows": rows}


def _letter(found: list[str] | None) -> str:
    return verdicts.BY_NAME[verdicts.worst(found)].letter if found else " "


def _ordered(names: set[str], known: Iterable[str]) -> list[str]:
    """Those that are known in their order, then the others; "", for none, last."""
    order = {name: place for place, name in enumerate(known)}
    return sorted(names, key=lambda name: (not name, order.get(name, len(order)), name))


class _Texts:
    """Each text once, and how much they weigh; "" is the first."""

    def __init__(self) -> None:
        self.all = [""]
        self._numbers = {"": 0}
        self._weight = 0

    def has_room_for(self, text: str) -> bool:
        return text in self._numbers or self._weight + len(text) <= PAGE_TEXT

    def number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.all)
            self.all.append(text)
            self._weight += len(text)
        return self._numbers[text]


def _rows(findings: list[Mapping], texts: _Texts) -> tuple[list[list[int]], int]:
    """The rows, and of how many of them the page does not say all."""
    rows = [[verdicts.rank(entry["verdict"]), *[0] * len(FIELDS)] for entry in findings]
    weighty = {field for fields in _WEIGHTY for field in fields}
    shortened = set()
    for fields in ([field for field in FIELDS if field not in weighty], *_WEIGHTY):
        for index, entry in enumerate(findings):
            for field in fields:
                text = _short(field, str(entry.get(field) or ""))
                if field in weighty and not texts.has_room_for(text):
                    shortened.add(index)
                else:
                    rows[index][1 + FIELDS.index(field)] = texts.number(text)
    return [_without_trailing_zeros(row) for row in rows], len(shortened)


def _short(field: str, text: str) -> str:
    """A text as a page can carry it. Of a trace the end matters, of all else the beginning."""
    text = _TERMINAL_COLOUR.sub("", text)
    if len(text) <= ONE_TEXT:
        return text
    more = f"({len(text) - ONE_TEXT} characters more)"
    return f"{more} …{text[-ONE_TEXT:]}" if field == "trace" else f"{text[:ONE_TEXT]}… {more}"


def _without_trailing_zeros(row: list[int]) -> list[int]:
    length = max((place + 1 for place, number in enumerate(row) if number), default=1)
    return row[:length]
