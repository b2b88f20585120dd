"""The report as text for a terminal, as a page in Markdown, and as a document of JSON."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Sequence

import click

from .. import toolkit
from ..variables import printable
from .change import (
    BECAME_ABSTRACT,
    BECAME_FINAL,
    BECAME_PURE,
    CHANGED,
    DEPRECATED,
    KINDS,
    REMOVED,
    SECTIONS,
    Change,
)
from .comparing import Report
from .release import Release

_SCHEMA = 1  # schema/upgrade-report-1.json: names are added to it, and none changes
_COLORS = {
    **dict.fromkeys((REMOVED, BECAME_PURE, BECAME_ABSTRACT, BECAME_FINAL), "red"),
    **dict.fromkeys((CHANGED, DEPRECATED), "yellow"),
}
_MARK_WIDTH = max(map(len, KINDS)) + 2
MOST_LINES = 5  # of the project, for each change
MOST_LETTERS = 160  # of a declaration, a schema, a note
_CONTEXT = 20  # letters before a difference


def as_text(report: Report, most: int) -> Iterator[str]:
    """`most` is how many changes a section shows that touch nothing of the project."""
    yield click.style(printable(_title(report)), bold=True)
    yield printable(_summary(report))
    yield from map(printable, _unread(report))
    for section, what in SECTIONS.items():
        touching, others = _parted(report, section)
        yield ""
        yield click.style(what, bold=True) + f": {_counted(touching, others)}"
        for change in touching:
            yield from _of(change)
        for change in others[:most]:
            yield from _of(change)
        if len(others) > most:
            yield f"  {len(others) - most} more that the project does not name; --most shows them"


def _title(report: Report) -> str:
    return f"torch {report.old.version} -> {report.new.version}, for {report.project}"


def _summary(report: Report) -> str:
    touching = sum(bool(it.touches) for it in report.changes)
    total = len(report.changes)
    text = f"{total} change{'' if total == 1 else 's'}, of which {_touching(touching)}; "
    text += f"{report.seconds:.1f} s"
    return text


def _unread(report: Report) -> Iterator[str]:
    names = list(report.unread)
    for name in names[:MOST_LINES]:
        yield f"not read: {name}: {report.unread[name]}"
    if len(names) > MOST_LINES:
        yield f"not read: {len(names) - MOST_LINES} more files"


def _parted(report: Report, section: str) -> tuple[list[Change], list[Change]]:
    """Those that touch the project, and the others."""
    found = [it for it in report.changes if it.section == section]
    return [it for it in found if it.touches], [it for it in found if not it.touches]


def _counted(touching: Sequence[Change], others: Sequence[Change]) -> str:
    total = len(touching) + len(others)
    if not total:
        return "nothing changed"
    kinds = [it.kind for it in (*touching, *others)]
    words = ", ".join(f"{kinds.count(it)} {it}" for it in KINDS if it in kinds)
    return f"{words}; {_touching(len(touching))}"


def _touching(count: int) -> str:
    return f"{count or 'none'} {'touches' if count == 1 else 'touch'} the project"


def _explained(change: Change) -> Iterator[str]:
    """What differs, line by line: only a change has both declarations."""
    if change.before and change.after and change.before != change.after:
        before, after = _where_they_differ(change.before, change.after)
        yield f"was {_short(before)}"
        yield f"is  {_short(after)}"
    elif change.before != change.after:
        yield _short(change.after or change.before)
    if change.note:
        yield _short(change.note)


def _places(change: Change) -> Iterator[str]:
    for it in change.touches[:MOST_LINES]:
        yield f"{it.file}:{it.line} {it.how}"
    if len(change.touches) > MOST_LINES:
        yield f"and {len(change.touches) - MOST_LINES} more lines"


def _where_they_differ(before: str, after: str) -> tuple[str, str]:
    """Of long texts the end from shortly before the first word that differs."""
    if max(len(before), len(after)) <= MOST_LETTERS:
        return before, after
    same = len(os.path.commonprefix((before, after)))
    name = before.partition("(")[0]
    start = before.rfind(" ", 0, max(0, same - _CONTEXT)) + 1
    if start <= len(name):
        return before, after
    return f"{name}(... {before[start:]}", f"{name}(... {after[start:]}"


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 3]}..."


def _of(change: Change) -> Iterator[str]:
    mark = click.style(change.kind.ljust(_MARK_WIDTH), fg=_COLORS.get(change.kind))
    yield f"  {mark}{printable(change.name)}"
    indent = " " * (2 + _MARK_WIDTH)
    for text in _explained(change):
        yield f"{indent}{printable(text)}"
    for text in _places(change):
        yield f"{indent}-> {printable(text)}"


# ---- A page


def as_markdown(report: Report, most: int) -> Iterator[str]:
    """`most` is how many changes a section shows that touch nothing of the project."""
    yield f"# From torch {report.old.version} to {report.new.version}"
    yield ""
    yield f"{_summary(report)}."
    if report.unread:
        yield ""
    for text in _unread(report):
        yield f"- {_plain(text)}"
    for section, what in SECTIONS.items():
        touching, others = _parted(report, section)
        yield ""
        yield f"## {what[0].upper()}{what[1:]}"
        yield ""
        yield f"{_counted(touching, others)}."
        shown = [*touching, *others[:most]]
        if shown:
            yield ""
        for change in shown:
            yield from _item(change)
        if len(others) > most:
            yield f"- {len(others) - most} more that the project does not name"


def _item(change: Change) -> Iterator[str]:
    yield f"- {change.kind}: {_code(change.name)}"
    for text in _explained(change):
        is_note = text == change.note or change.note.startswith(text.removesuffix("..."))
        yield f"    - {_plain(text) if is_note else _code(text)}"
    for text in _places(change):
        place, _, how = text.partition(" ")
        yield f"    - {_plain(text) if place == 'and' else f'{_code(place)} {how}'}"


def _code(text: str) -> str:
    text = printable(text)
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def _plain(text: str) -> str:
    """What Markdown would read as its own is shown as it is."""
    text = printable(text)
    for mark in "\\`*_<>[]":
        text = text.replace(mark, f"\\{mark}")
    return text


# ---- A document


def as_json(report: Report) -> str:
    document = {
        "schema": _SCHEMA,
        "outback": toolkit.version(),
        "old": _release(report.old),
        "new": _release(report.new),
        "project": str(report.project),
        "seconds": round(report.seconds, 3),
        "unread": report.unread,
        "sections": SECTIONS,
        "changes": [dataclasses.asdict(it) for it in report.changes],
    }
    return json.dumps(document, indent=2)


def _release(release: Release) -> dict[str, str]:
    return {"version": release.version, "place": release.place}
