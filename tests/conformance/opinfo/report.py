"""Prints a run: counts with their denominators, failures grouped by cause, the gate's verdict."""

from __future__ import annotations

import collections
import re
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .gate import Verdict
from .results import STATUSES
from .settings import PHASES

NAMED = 40  # operators for a cause; all of them are in the file
NOT_PASSED = ("failed", "crashed", "timed_out")


def summary(console: Console, document: dict[str, Any], seconds: float) -> None:
    of = document["denominators"]
    settings = document["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    console.print(
        f"[bold]OpInfo on {document['device']}[/bold] ({document['label']}): {settings['dtype']}, "
        f"first {settings['samples']} samples, {seconds:.0f} s\n{versions}"
    )
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("")
    for heading in ("of", *STATUSES):
        table.add_column(heading.replace("_", " "), justify="right")
    for phase in PHASES:
        numbers = document["counts"][phase]
        table.add_row(phase, str(of[phase]), *(str(numbers[status]) for status in STATUSES))
    console.print(table)
    console.print(
        f"of {of['op_db']} operators in the op_db: {of['selected']} selected, "
        f"{of[settings['dtype']]} run with {settings['dtype']}, {of['other_dtype']} with another "
        f"dtype, {of['no_dtype']} have none on the CPU"
    )
    _remarks(console, document)


def failures(console: Console, document: dict[str, Any], traces: bool) -> None:
    """Every operator that did not pass, the most frequent cause first."""
    causes: dict[str, list[str]] = collections.defaultdict(list)
    for name, entry in document["ops"].items():
        for phase in PHASES:
            found = entry.get(phase, {})
            if found.get("status") in NOT_PASSED:
                cause = f"{found['status'].replace('_', ' ')}: {_cause(found['error'])}"
                causes[cause].append(name if phase == "forward" else f"{name} ({phase})")
                if traces and found.get("trace"):
                    console.rule(f"{name}, {phase}")
                    console.print(escape(found["trace"]))
    for cause, names in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        console.print(f"[red]{len(names):4}[/red]  {escape(cause)}")
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        console.print(f"      [dim]{escape(', '.join(names[:NAMED]))}{more}[/dim]")
    for complaint in document["unclean_exits"]:
        console.print(f"[red]unclean exit of a worker:[/red] {escape(complaint)}")


def verdict(console: Console, found: Verdict, baseline: str) -> None:
    for change in found.regressions:
        console.print(
            f"[red]regression[/red] {change.op}, {change.phase}: passed, now {change.now}"
        )
    for change in found.improvements:
        console.print(f"[green]now passes[/green] {change.op}, {change.phase}: was {change.before}")
    console.print(
        f"{found.compared} operators compared with {baseline}: {len(found.regressions)} "
        f"regressions, {len(found.improvements)} improvements"
    )


def slowest(console: Console, seconds: dict[str, float], count: int) -> None:
    for name, took in sorted(seconds.items(), key=lambda item: -item[1])[:count]:
        console.print(f"{took:7.2f} s  {name}")


def _remarks(console: Console, document: dict[str, Any]) -> None:
    entries = [entry.get("forward", {}) for entry in document["ops"].values()]
    strides = sum("other_strides" in entry for entry in entries)
    ignored = sum("values_ignored" in entry for entry in entries)
    console.print(
        f"[dim]forward: {ignored} compared by shape, dtype and device alone (random or "
        f"uninitialised values); {strides} laid out in memory otherwise than on the CPU[/dim]"
    )


def _cause(error: str) -> str:
    """An error without what belongs to one operator alone, for grouping."""
    if re.match(r"(Mismatched elements|Scalars are not)|.*: Mismatched elements", error):
        return "values differ from the CPU's"
    error = re.sub(r"aten::[\w.]+", "aten::…", error)
    return re.sub(r"\d+(\.\d+)?(e-?\d+)?", "N", error)[:160]
