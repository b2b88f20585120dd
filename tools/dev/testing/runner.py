"""Runs parts of ./dev test one by one, and keeps what each came to."""

from collections.abc import Sequence

from .. import build, console
from ..environment import Environment
from ..report import FAILED, Outcome, Report
from .parts import Part, Work
from .results import Results, State


def run(environment: Environment, parts: Sequence[Part], resume: bool) -> int:
    """Runs `parts`; with `resume` not those that have passed on these very sources."""
    results = Results(environment.build / "results", environment.torch)
    report = Report()
    work = Work(environment, environment.build / "dev")
    built = None  # whether the build tree dev is; not known yet
    try:
        for part in parts:
            before = State.now()
            if resume and (last := results.passed(part.name, before)):
                note = f"{last.note} ({last.seconds:.0f} s on {last.date})"
                report.add(Outcome(part.name, last.state, note, None))
                continue
            if part.on_dev and built is None:
                outcome = report.part("build dev", lambda: build_dev(environment))
                built = outcome.state != FAILED
            if part.on_dev and not built:
                continue
            outcome = report.part(part.name, lambda part=part: part.run(work))
            results.keep(part.name, outcome, before, State.now())
    except KeyboardInterrupt:
        console.title("\nSo far, which --resume takes up:")
        report.table()
        raise
    return report.finish()


def list_parts(environment: Environment, parts: Sequence[Part], short: Sequence[Part]) -> int:
    """Prints what each does, and how the last run of it went."""
    results = Results(environment.build / "results", environment.torch)
    for part in parts:
        last = results.last(part.name)
        went = f"{last.seconds:>7.0f} s  {last.state:<8}" if last else " " * 19
        run = "short" if part in short else "--all"
        console.title(f"  {part.name:<26} {run} {went} {part.title}")
    return 0


def build_dev(environment: Environment) -> str:
    build.build(environment, "dev")
    return f"{environment.jobs} compilers at a time"
