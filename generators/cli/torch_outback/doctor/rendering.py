"""The findings as text for a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator

import click

from ..variables import printable
from .examination import Examination
from .finding import NOTE, OK, PROBLEM, Finding

_MARKS = {OK: ("ok", "green"), NOTE: ("note", "yellow"), PROBLEM: ("PROBLEM", "red")}
_MARK_WIDTH = 9
_NARROWEST, _WIDEST = 60, 120


def lines(examination: Examination) -> Iterator[str]:
    section = ""
    advised: set[tuple[str, str]] = set()
    for found in examination.findings:
        if found.section != section:
            section = found.section
            yield ("" if found is examination.findings[0] else "\n") + click.style(
                section, bold=True
            )
        yield from _of(found, advised)
    yield ""
    yield _summary(examination)


def _of(found: Finding, advised: set[tuple[str, str]]) -> Iterator[str]:
    """`advised` has what was printed before: one cause may have several consequences."""
    mark, color = _MARKS[found.status]
    indent = " " * (2 + _MARK_WIDTH)
    text = f"{found.name}: {found.found}"
    first, *rest = _wrapped(text, indent)
    yield f"  {click.style(mark.ljust(_MARK_WIDTH), fg=color)}{first[len(indent) :]}"
    yield from rest
    # What nobody has to do anything about is one line.
    if found.status == OK:
        return
    if (found.advice, found.command) in advised:
        yield f"{indent}-> as above"
        return
    advised.add((found.advice, found.command))
    if found.advice:
        yield from _wrapped(f"-> {found.advice}", indent)
    if found.command:
        yield f"{indent}$ {printable(found.command)}"  # never wrapped: it is copied


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        printable(text),
        _width(),
        initial_indent=indent,
        subsequent_indent=f"{indent}   ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width() -> int:
    if not sys.stdout.isatty():
        return _WIDEST
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))


def _summary(examination: Examination) -> str:
    notes = sum(it.status == NOTE for it in examination.findings)
    parts = [_counted(examination.problems, "problem"), _counted(notes, "note")]
    return f"{', '.join(parts)}; {examination.seconds:.1f} s"


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
