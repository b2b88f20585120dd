"""The report as a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from .change import SECTIONS, Change
from .comparing import Report
from .rendering import counted, explained, parted, places, summary, unread


def lines(report: Report, most: int) -> Iterator[str]:
    """`most` is how many changes a section shows that touch nothing of the project."""
    yield f"# From torch {report.old.version} to {report.new.version}"
    yield ""
    yield f"{summary(report)}."
    if report.unread:
        yield ""
    for text in unread(report):
        yield f"- {_plain(text)}"
    for section, what in SECTIONS.items():
        touching, others = parted(report, section)
        yield ""
        yield f"## {what[0].upper()}{what[1:]}"
        yield ""
        yield f"{counted(touching, others)}."
        shown = [*touching, *others[:most]]
        if shown:
            yield ""
        for change in shown:
            yield from _item(change)
        if len(others) > most:
            yield f"- {len(others) - most} more that the project does not name"


def _item(change: Change) -> Iterator[str]:
    yield f"- {change.kind}: {_code(change.name)}"
    for text in explained(change):
        is_note = text == change.note or change.note.startswith(text.removesuffix("..."))
        yield f"    - {_plain(text) if is_note else _code(text)}"
    for text in places(change):
        place, _, how = text.partition(" ")
        yield f"    - {_plain(text) if place == 'and' else f'{_code(place)} {how}'}"


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def _plain(text: str) -> str:
    """What Markdown would read as its own is shown as it is."""
    for mark in "\\`*_<>[]":
        text = text.replace(mark, f"\\{mark}")
    return text
