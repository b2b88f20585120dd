"""The list of what does not pass, and why, in words: NOT_PASSING.md, made of the result files.

Only the harness writes it: a test holds the committed list against the committed files.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from . import compact, results
from .compact import NOT_PASSED
from .results import TOTAL
from .settings import NO_FORM

FILE = "NOT_PASSING.md"
HEAD = """\
# What does not pass, and what is not compared

Produced by the harness from the result files beside it, and never edited. The gate (`--check`) lets
these lists only shrink. They read: reason: `name` (dtypes: phases).
"""
# What an entry can say besides its status, and what it means.
REMARKS = {
    "values_ignored": "Compared by shape, dtype, device and aliasing alone",
    "tolerance": "Compared with a wider tolerance",
    "functional_form": "Compared with what the CPU returns, since it leaves out= unwritten",
    "by_float64": "Differs from the CPU, and is as near to float64 as the CPU is",
}


def text(folder: Path) -> str:
    """The whole list, over all result files in `folder`; those that say the same say it once."""
    names: dict[str, list[str]] = collections.defaultdict(list)
    for file in sorted(folder.glob("*.json")):
        names["\n".join(_of_document(results.load(file)))].append(file.stem)
    parts = (f"## {', '.join(stems)}\n\n{said}" for said, stems in names.items())
    return "\n".join([HEAD, *parts])


def _of_document(document: dict[str, Any]) -> Iterator[str]:
    yield from _totals(document)
    found = list(results.entries(document))
    bad = [(address, entry) for address, entry in found if entry["status"] in NOT_PASSED]
    yield from _section(
        "Does not pass", ((f"{e['status'].replace('_', ' ')}: {e['error']}", a) for a, e in bad)
    )
    skipped = ((e["reason"], a) for a, e in found if e["status"] == "skipped")
    yield from _section("The CPU gives no answer to compare with", skipped)
    no_dtype = (
        ("it has no dtype there", a) for a, e in found if e["status"] == "unsupported_dtype"
    )
    yield from _section("The CPU does not have it", no_dtype)
    for remark, meaning in REMARKS.items():
        yield from _section(meaning, ((e[remark], a) for a, e in found if remark in e))
    for complaint in document["unclean_exits"]:
        yield f"- unclean exit of a worker: {complaint}\n"


def _totals(document: dict[str, Any]) -> Iterator[str]:
    """How much the lists below are out of."""
    yield "| | entries | pass | refused as by the CPU | do not pass | no answer on the CPU |"
    yield "|---|--:|--:|--:|--:|--:|"
    for kind, by_dtype in document["counts"].items():
        for phase, numbers in by_dtype[TOTAL].items():
            bad = sum(numbers[status] for status in NOT_PASSED)
            without = numbers["skipped"] + numbers["unsupported_dtype"]
            yield (
                f"| {kind}, {phase} | {sum(numbers.values())} | {numbers['passed']} "
                f"| {numbers['refused']} | {bad} | {without} |"
            )
    yield ""


def _section(title: str, reasons: Iterable[tuple[str, tuple[str, str, str, str]]]) -> Iterator[str]:
    by_reason: dict[str, list] = collections.defaultdict(list)
    for reason, address in reasons:
        by_reason[reason].append(address)
    total = sum(map(len, by_reason.values()))
    yield f"### {title}: {total or 'none'}\n"
    for reason, addresses in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        # What has no tensors to lay out otherwise is many, and says nothing about the device.
        names = "" if reason == NO_FORM else f": {_names(addresses)}"
        yield f"- **{len(addresses)}** {_escaped(reason)}{names}"
    if by_reason:
        yield ""


def _names(addresses: list[tuple[str, str, str, str]]) -> str:
    found = compact.places(address[1:] for address in addresses)
    return ", ".join(f"`{name}` ({where})" for name, where in found.items())


def _escaped(reason: str) -> str:
    """Without what Markdown would take for its own."""
    return "".join(f"\\{c}" if c in "*_<>`[]|\\" else c for c in reason)


def write(folder: Path) -> None:
    (folder / FILE).write_text(text(folder), encoding="utf-8")
