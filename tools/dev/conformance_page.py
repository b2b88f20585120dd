"""docs/conformance_reports.md: what `outback conformance` at standard found on each runtime."""

import json
from collections import Counter

from .environment import Environment
from .paths import ROOT
from .python_runs import RUNS
from .testing import conformance
from .testing.results import Results

PAGE = ROOT / "docs/conformance_reports.md"
_BEGINNING = """\
# Conformance reports

<!-- Written by ./dev conformance-page, not by hand. -->

Each column is a run of [`outback conformance --level standard`](conformance.md) on acme, the
[scaffold](glossary.md), built on one of Outback's [runtimes](runtimes.md). *Memory apart* is the
host runtime with [memory that the CPU cannot address](glossary.md). *Null* is a runtime with the
eight required functions and nothing else. CUDA and Level Zero run on [stand-ins](glossary.md):
drivers in software. OpenCL runs on PoCL, a driver for the CPU.

`./dev test --all` makes the runs, and so does `./dev test --only` with the parts whose names begin
with `conformance-`; `./dev conformance-page` then writes this page from their reports. A later
commit may differ.

"""
_COUNTS = ("pass", "unsupported", "skipped", "expected", "fail", "crash", "timeout")


def write(environment: Environment) -> str:
    """Of the last run on each runtime; returns what it lacks."""
    results = Results(environment.build / "results", environment.torch)
    rows: dict[str, list[str]] = {"": [], "commit": [], "date": [], "torch": [], "score": []}
    rows |= {f"entries: {count}": [] for count in _COUNTS}
    suites: dict[str, dict[str, str]] = {}
    reasons: Counter[tuple[str, str, str]] = Counter()
    lacking = []
    for run in RUNS:
        part = f"conformance-{run.short_name}"
        result = results.last(part)
        report = conformance.report(run, "standard")
        if result is None or not report.exists():
            lacking.append(f"{run.name}: run ./dev test --only {part}")
            continue
        made = json.loads(report.read_text("utf-8"))
        totals = made["totals"]
        commit = f"`{result.commit[:10]}`" + (", edited" * result.dirty)
        column = [run.name, commit, made["started"][:10], made["versions"]["torch"]]
        column += [_score(totals), *(f"{totals[count]:,}" for count in _COUNTS)]
        for row, cell in zip(rows.values(), column, strict=True):
            row.append(cell)
        for suite in made["suites"]:
            left_out = suite["totals"]["unsupported"]
            more = f", {left_out} unsupported" if left_out else ""
            cell = f"{_score(suite['totals'])} of {_asked(suite['totals']):,}{more}"
            suites.setdefault(suite["name"], {})[run.name] = cell
        for entry in made["entries"]:
            if entry["verdict"] == "unsupported":
                reasons[run.name, entry["reason"], entry["suite"]] += 1
    names = rows.pop("")
    text = _BEGINNING + _table(["", *names], [[name, *row] for name, row in rows.items()])
    text += "\n## Each suite\n\nThe share that passes of the entries that have an answer.\n\n"
    cells = [[f"`{suite}`", *(on.get(name, "") for name in names)] for suite, on in suites.items()]
    text += _table(["suite", *names], cells)
    text += "\n## What is unsupported, and why\n\n"
    why = [[run, f"`{suite}`", str(n), reason] for (run, reason, suite), n in reasons.items()]
    text += _table(["runtime", "suite", "entries", "reason"], why)
    PAGE.write_text(text, encoding="utf-8")
    return "".join(f"no report of {each}\n" for each in lacking) or "all reports are in it\n"


def _asked(totals: dict[str, int]) -> int:
    return sum(totals[name] for name in _COUNTS if name not in ("unsupported", "skipped"))


def _score(totals: dict[str, int]) -> str:
    """Rounded down: 100 % is for runs in which everything passed."""
    asked = _asked(totals)
    return f"{totals['pass'] * 1000 // asked / 10:.4g} %" if asked else "none"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines
    )
