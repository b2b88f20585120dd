"""The command line."""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..files import check_writable
from ..running.forked import ForkServer
from ..running.refused import WorkerFailed
from . import gate, report, results
from .exemptions import Exemptions, WrongExemptions
from .run import Outcome, run
from .settings import (
    DEFAULT_EXEMPTIONS,
    DEFAULT_MODULE_DB,
    DEFAULT_OP_DB,
    DEFAULT_OPTIM_DB,
    DTYPES,
    KINDS,
    Settings,
    Shard,
)

DESCRIPTION = (
    "Runs what PyTorch has samples of (operators, modules, optimizers) on a device and on the CPU."
)
# Why a run could not be made.
_NO_RUN = (WorkerFailed, WrongExemptions, results.NotOurs, gate.NotComparable, OSError)
EXIT_STATUS = """\
exit status: 0 if the run could be made and, with --check, nothing got worse; 1 if anything did, or
with --strict if anything did not pass; 2 if the run could not be made and says nothing.
"""


def main(arguments: list[str] | None = None, server: ForkServer | None = None) -> None:
    """`server` is for who runs more than one command."""
    options = _parser().parse_args(arguments)
    # Never narrower than its tables: a log is read later, on another screen.
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 120)
    started = time.monotonic()
    try:
        settings = Settings(**{name: getattr(options, name) for name in _SETTINGS})
        baseline = results.load(options.check) if options.check else None
        if baseline is not None:
            settings = gate.settings_of(baseline, settings)
        # What would fail in each worker, or after hours.
        Exemptions.load(settings.exemptions)
        if options.out is not None:
            check_writable(options.out)
        outcome = _run(console, settings, options.jobs, options.timeout, server)
        label = options.label or (baseline["label"] if baseline else "unlabelled")
        document = results.build(outcome, settings, label)
        verdict = gate.compare(baseline, document) if baseline is not None else None
    except _NO_RUN as error:
        console.print(f"[red]{escape(str(error))}[/red]", highlight=False)
        sys.exit(2)
    report.summary(console, document, time.monotonic() - started)
    report.failures(console, document, options.traces)
    report.slowest(console, outcome.seconds, options.slowest)
    if options.out is not None:
        results.save(document, options.out)
        console.print(f"written: {options.out}")
    bad = options.strict and not results.all_passed(document)
    if verdict is not None:
        report.verdict(console, verdict, str(options.check))
        bad = bad or bool(verdict.regressions or document["unclean_exits"])
    sys.exit(1 if bad else 0)


def _run(
    console: Console, settings: Settings, jobs: int, timeout: float, server: ForkServer | None
) -> Outcome:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    off = not console.is_terminal
    with Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=off
    ) as bar:
        task = bar.add_task("starting", total=None)

        def progress(finished: int, selected: int, subject: str) -> None:
            bar.update(task, completed=finished, total=selected, description=subject)

        return run(settings, jobs, timeout, progress, server)


# The options that make up the Settings; the others are about this machine and what to print.
_SETTINGS = (
    "device",
    "imports",
    "kinds",
    "dtypes",
    "other_dtypes",
    "samples",
    "seed",
    "rtol",
    "atol",
    "ops",
    "shard",
    "op_db",
    "module_db",
    "optim_db",
    "exemptions",
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=DESCRIPTION,
        epilog=EXIT_STATUS,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    what = parser.add_argument_group("what runs")
    what.add_argument("--device", required=True, help="with an index or without: acme, acme:1")
    what.add_argument(
        "--import", dest="imports", type=_names, default=(), help="modules that register it"
    )
    what.add_argument("--kinds", type=_names, default=KINDS, help="with commas")
    what.add_argument(
        "--ops", type=_names, default=(), help="names, also of modules and optimizers; none: all"
    )
    what.add_argument("--shard", type=_shard, default=Shard(), help="i/n: the i-th of n parts")
    what.add_argument(
        "--dtypes", type=_names, default=DTYPES, help="that operators run with where they can"
    )
    what.add_argument(
        "--other-dtypes",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="run what has none of them with the first one that it has",
    )
    what.add_argument("--samples", type=_one_or_more, default=3, help="of each operator, at most")
    what.add_argument("--seed", type=int, default=0, help="of the samples")
    what.add_argument("--rtol", type=float, help="relative tolerance; none: torch.testing's")
    what.add_argument("--atol", type=float, help="absolute tolerance; none: torch.testing's")
    what.add_argument("--op-db", default=DEFAULT_OP_DB, help="list of OpInfos, module:name")
    what.add_argument("--module-db", default=DEFAULT_MODULE_DB, help="list of ModuleInfos")
    what.add_argument("--optim-db", default=DEFAULT_OPTIM_DB, help="list of OptimizerInfos")
    what.add_argument("--exemptions", default=DEFAULT_EXEMPTIONS, help="JSON file of reasons")

    how = parser.add_argument_group("how")
    how.add_argument(
        "--jobs", type=_one_or_more, default=2, help="worker processes, one thread each"
    )
    how.add_argument("--timeout", type=_seconds, default=120, help="seconds for one phase")

    answer = parser.add_argument_group("what comes of it")
    answer.add_argument("--label", default="", help="the run's name in the result file")
    answer.add_argument("--out", type=Path, help="result file to write")
    answer.add_argument(
        "--check",
        type=Path,
        help="result file: fail if anything is worse than in it; brings its dtypes and samples",
    )
    answer.add_argument("--strict", action="store_true", help="fail if anything did not pass")
    answer.add_argument("--traces", action="store_true", help="print the traceback of each failure")
    answer.add_argument("--slowest", type=int, default=0, help="print that many slowest subjects")
    return parser


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _one_or_more(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not int(text):
        raise argparse.ArgumentTypeError(f"{text}: expected a number above 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: expected seconds, above 0")
    return seconds


def _shard(text: str) -> Shard:
    try:
        return Shard.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
