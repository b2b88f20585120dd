"""Prints a run: counts with their denominators, failures grouped by cause, the gate's verdict."""

from __future__ import annotations

import collections
import re
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import results
from .compact import NOT_PASSED
from .gate import Verdict
from .results import STATUSES, TOTAL

NAMED = 40  # subjects for a cause; all of them are in the file


def summary(console: Console, document: dict[str, Any], seconds: float) -> None:
    settings = document["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    console.print(
        f"[bold]PyTorch's samples on {document['device']}[/bold] ({document['label']}): "
        f"first {settings['samples']} of each operator, {seconds:.0f} s\n{versions}"
    )
    for kind, of in document["denominators"].items():
        dtypes = ", ".join(f"{dtype} {count}" for dtype, count in of["dtypes"].items())
        console.print(f"\n{of['described']} {kind}, {of['selected']} selected: {dtypes or 'none'}")
        console.print(_by_status(document, kind))
        if len(of["dtypes"]) > 1:
            console.print(_by_dtype(document, kind))
    _remarks(console, document)


def _by_status(document: dict[str, Any], kind: str) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("")
    for heading in ("of", *STATUSES):
        table.add_column(heading.replace("_", " "), justify="right")
    of = document["denominators"][kind]["phases"]
    for phase, numbers in document["counts"][kind][TOTAL].items():
        table.add_row(phase, str(of[phase]), *(str(numbers[status]) for status in STATUSES))
    return table


def _by_dtype(document: dict[str, Any], kind: str) -> Table:
    """Passes out of what has an answer on the CPU."""
    by_dtype = document["counts"][kind]
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("passed")
    for dtype in by_dtype:
        table.add_column(dtype, justify="right")
    for phase in by_dtype[TOTAL]:
        numbers = [by_dtype[dtype][phase] for dtype in by_dtype]
        table.add_row(phase, *(f"{n['passed']}/{answered(n)}" for n in numbers))
    return table


def answered(numbers: dict[str, int]) -> int:
    """Entries whose samples have an answer on the CPU."""
    return sum(numbers[status] for status in ("passed", *NOT_PASSED))


def failures(console: Console, document: dict[str, Any], traces: bool) -> None:
    """Every subject that did not pass, the most frequent cause first."""
    causes: dict[str, list[str]] = collections.defaultdict(list)
    for (_, name, dtype, phase), entry in results.entries(document):
        if entry["status"] in NOT_PASSED:
            causes[cause(entry)].append(f"{name} ({dtype}, {phase})")
            if traces and entry.get("trace"):
                console.rule(f"{name}, {dtype}, {phase}")
                console.print(escape(entry["trace"]))
    for why, names in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        console.print(f"[red]{len(names):4}[/red]  {escape(why)}")
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        console.print(f"      [dim]{escape(', '.join(names[:NAMED]))}{more}[/dim]")
    for complaint in document["unclean_exits"]:
        console.print(f"[red]unclean exit of a worker:[/red] {escape(complaint)}")


def verdict(console: Console, found: Verdict, baseline: str) -> None:
    for change in found.regressions:
        console.print(f"[red]regression[/red] {change}: {change.before}, now {change.now}")
    for change in found.improvements:
        console.print(f"[green]better[/green] {change}: {change.before}, now {change.now}")
    console.print(
        f"{found.compared} entries compared with {baseline}: {len(found.regressions)} "
        f"regressions, {len(found.improvements)} improvements"
    )


def slowest(console: Console, seconds: dict[str, float], count: int) -> None:
    for key, took in sorted(seconds.items(), key=lambda item: -item[1])[:count]:
        console.print(f"{took:7.2f} s  {key}")


def _remarks(console: Console, document: dict[str, Any]) -> None:
    forward = [entry for (*_, phase), entry in results.entries(document) if phase == "forward"]
    strides = sum("other_strides" in entry for entry in forward)
    ignored = sum("values_ignored" in entry for entry in forward)
    console.print(
        f"[dim]forward: {ignored} compared by shape, dtype and device alone (random or "
        f"uninitialised values); {strides} laid out in memory otherwise than on the CPU[/dim]"
    )


def cause(entry: dict[str, Any]) -> str:
    """A failure without what belongs to one subject alone, for grouping."""
    status, error = entry["status"].replace("_", " "), entry["error"]
    if re.match(r"(Mismatched elements|Scalars are not)|.*: Mismatched elements", error):
        return f"{status}: values differ from the CPU's"
    error = re.sub(r"aten::[\w.]+", "aten::…", error)
    return f"{status}: " + re.sub(r"\d+(\.\d+)?(e-?\d+)?", "N", error)[:160]
