"""The command line."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import gate, report, results
from .settings import DEFAULT_EXEMPTIONS, DEFAULT_OP_DB, Settings, Shard
from .supervisor import Outcome, Supervisor, WorkerFailed

HELP = """Run PyTorch's operator samples on DEVICE and compare with the CPU.

The exit status is 0 if the run could be made and, with --check, no operator got worse; 1 if one
did, or with --strict if any did not pass; 2 if there is nothing to say.
"""


def _shard(_context: click.Context, _option: click.Parameter, text: str) -> Shard:
    try:
        return Shard.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _names(_context: click.Context, _option: click.Parameter, text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


@click.command(help=HELP, context_settings={"show_default": True})
@click.option("--device", required=True, help="Device, with an index or without: acme, acme:1.")
@click.option("--import", "imports", callback=_names, default="", help="Modules that register it.")
@click.option("--dtype", default="float32", help="Dtype of the samples.")
@click.option(
    "--other-dtypes/--only-dtype",
    default=True,
    help="Run an operator that lacks the dtype with the first one that it has, or not at all.",
)
@click.option("--samples", default=3, help="Samples of each operator.")
@click.option("--seed", default=0)
@click.option("--rtol", type=float, help="Relative tolerance; none: torch.testing's.")
@click.option("--atol", type=float, help="Absolute tolerance; none: torch.testing's.")
@click.option("--ops", callback=_names, default="", help="Operators, with commas; none: all.")
@click.option("--shard", callback=_shard, default="1/1", help="The i-th of n parts: i/n.")
@click.option("--op-db", default=DEFAULT_OP_DB, help="The list of OpInfo objects: module:name.")
@click.option("--exemptions", default=DEFAULT_EXEMPTIONS, show_default=False, help="JSON file.")
@click.option("--jobs", default=2, help="Worker processes; one thread each.")
@click.option("--timeout", default=120.0, help="Seconds for one operator.")
@click.option("--label", default="", help="What the run is called in the result file.")
@click.option("--out", type=click.Path(path_type=Path), help="The result file to write.")
@click.option(
    "--check",
    type=click.Path(path_type=Path, exists=True),
    help="A result file: fail if what passed there fails now. Brings its own dtype and samples.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if any operator did not pass.")
@click.option("--traces", is_flag=True, help="Print the traceback of every failure.")
@click.option("--slowest", default=0, help="Print the operators that took longest.")
def main(
    jobs: int,
    timeout: float,
    label: str,
    out: Path | None,
    check: Path | None,
    strict: bool,
    traces: bool,
    slowest: int,
    **wanted: object,
) -> None:
    console = Console(soft_wrap=True)
    started = time.monotonic()
    try:
        settings = Settings(**wanted)
        baseline = results.load(check) if check else None
        if baseline is not None:
            settings = gate.settings_of(baseline, settings)
            label = label or baseline["label"]
        outcome = _run(console, settings, jobs, timeout)
        document = results.build(outcome, settings, label or "unlabelled")
        found = gate.compare(baseline, document) if baseline is not None else None
    except (WorkerFailed, results.NotOurs, gate.NotComparable) as error:
        console.print(f"[red]{error}[/red]", highlight=False)
        sys.exit(2)
    report.summary(console, document, time.monotonic() - started)
    report.failures(console, document, traces)
    report.slowest(console, outcome.seconds, slowest)
    if out is not None:
        results.save(document, out)
        console.print(f"written: {out}")
    if found is not None:
        report.verdict(console, found, str(check))
        if found.regressions or document["unclean_exits"]:
            sys.exit(1)
    if strict and not results.all_passed(document):
        sys.exit(1)


def _run(console: Console, settings: Settings, jobs: int, timeout: float) -> Outcome:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def progress(finished: int, selected: int, op: str) -> None:
            bar.update(task, completed=finished, total=selected, description=op)

        return Supervisor(settings, jobs, timeout, progress).run()
