"""The document in the terminal: counts first, then each failure with what it breaks."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .. import verdicts
from ..baseline import Change, Comparison
from ..document import id_of

_DETAILED = 40  # failures that are told whole; the document has them all
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NAMED = 8  # entries for one reason
_STYLES = {verdicts.FAIL: "red", verdicts.CRASH: "magenta", verdicts.TIMEOUT: "yellow"}


def show(console: Console, document: dict[str, Any], comparison: Comparison | None = None) -> None:
    console.print(f"[bold]{_plain(document['headline'])}[/bold]", highlight=False)
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    console.print(
        f"{document['device']}, level {document['level']}, {document['seconds']:.0f} s; "
        f"{_plain(versions)}"
    )
    for package, file in document.get("backend", {}).items():
        console.print(f"tested: {_plain(package)}, {_plain(file)}", highlight=False)
    console.print(f"[dim]{_plain(document['sampled'])}[/dim]", highlight=False)
    console.print(_table(document))
    _failures(console, document)
    for title, verdict in (("Unsupported", verdicts.UNSUPPORTED), ("Expected", verdicts.EXPECTED)):
        _reasons(console, document, title, verdict)
    for problem in document["problems"]:
        console.print(f"[red]problem:[/red] {_plain(problem)}", highlight=False)
    if comparison is not None:
        _compared(console, comparison)


def _plain(text: str) -> str:
    """As it stands: it is no markup, and moves nothing on the screen."""
    return escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))


def _table(document: dict[str, Any]) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("suite")
    table.add_column("score", justify="right")
    for verdict in verdicts.VERDICTS:
        table.add_column(verdict, justify="right")
    for suite in document["suites"]:
        score = "-" if suite["score"] is None else f"{suite['score']:.1f} %"
        numbers = (suite["totals"][verdict] for verdict in verdicts.VERDICTS)
        table.add_row(suite["name"], score, *(str(number or "") for number in numbers))
    return table


def _failures(console: Console, document: dict[str, Any]) -> None:
    bad = [entry for entry in document["entries"] if entry["verdict"] in verdicts.BAD]
    for entry in bad[:_DETAILED]:
        style = _STYLES[entry["verdict"]]
        head = f"[{style}]{entry['verdict']}[/{style}] [bold]{_plain(id_of(entry))}[/bold]"
        console.print(f"\n{head}  {_plain(entry['message'])}", highlight=False)
        for before, name in (
            ("has to hold: ", "promise"),
            ("called by:   ", "called_by"),
            ("without it:  ", "without"),
        ):
            if name in entry:
                console.print(f"  [dim]{before}[/dim]{_plain(entry[name])}", highlight=False)
    if len(bad) > _DETAILED:
        console.print(f"\nand {len(bad) - _DETAILED} more that did not pass")


def _reasons(console: Console, document: dict[str, Any], title: str, verdict: str) -> None:
    reasons = collections.defaultdict(list)
    for entry in document["entries"]:
        if entry["verdict"] == verdict:
            reasons[entry["reason"]].append(id_of(entry))
    if not reasons:
        return
    console.print(f"\n[bold]{title}[/bold]")
    for reason, ids in sorted(reasons.items(), key=lambda item: -len(item[1])):
        more = f", and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
        named = _plain(", ".join(ids[:_NAMED]))
        console.print(f"{len(ids):5}  {_plain(reason)}\n       [dim]{named}{more}[/dim]")


def _compared(console: Console, comparison: Comparison) -> None:
    versions = ", ".join(
        f"{name} {was} to {now}" for name, (was, now) in comparison.versions.items()
    )
    console.print(f"\n[bold]Compared with the baseline[/bold] {_plain(versions)}")
    if parts := ", ".join(_parts(comparison)):
        console.print(f"parts that differ: {_plain(parts)}", highlight=False)
    for title, changes in (
        ("broke", comparison.broke),
        ("mended", comparison.mended),
        ("new", comparison.new),
        ("gone", comparison.gone),
    ):
        console.print(f"{len(changes):5}  {title}")
        for change in changes[:_DETAILED] if title in ("broke", "mended", "gone") else ():
            console.print(f"       [dim]{_plain(_told(change))}[/dim]", highlight=False)


def _parts(comparison: Comparison) -> Iterator[str]:
    """The suites that differ, as `graphs (2 broke, 1 mended)`."""
    broke, mended = (
        collections.Counter(change.id.partition("/")[0] for change in changes)
        for changes in (comparison.broke, comparison.mended)
    )
    for suite in sorted(broke | mended):
        counts = (f"{of[suite]} {what}" for of, what in ((broke, "broke"), (mended, "mended")))
        yield f"{suite} ({', '.join(each for each in counts if not each.startswith('0 '))})"


def _told(change: Change) -> str:
    return f"{change.id}: {change.before}, now {change.now or 'absent'}"
