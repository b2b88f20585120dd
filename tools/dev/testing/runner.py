"""Runs parts of ./dev test one by one, and keeps what each came to."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby

from .. import build, console
from ..environment import Environment
from ..report import FAILED, Outcome, Report
from .limits import WORKERS
from .parts import Part, Work
from .results import Results, State


def run(
    environment: Environment,
    parts: Sequence[Part],
    resume: bool,
    libraries: Sequence[str] = (),
) -> int:
    """Runs `parts`; with `resume` not those that have passed on these very sources."""
    results = Results(environment.build / "results", environment.torch)
    report = Report()
    work = Work(environment, environment.build / "dev", tuple(libraries))
    built = None  # whether the build tree dev is; not known yet
    try:
        for together in _groups(parts):
            before = State.now()
            chosen = []
            for part in together:
                if resume and (last := results.passed(part.name, before)):
                    note = f"{last.note} ({last.seconds:.0f} s on {last.date})"
                    report.add(Outcome(part.name, last.state, note, None))
                else:
                    chosen.append(part)
            if built is None and any(part.on_dev for part in chosen):
                outcome = report.part("build dev", lambda: build_dev(environment))
                built = outcome.state != FAILED
            chosen = [part for part in chosen if built or not part.on_dev]
            for part, outcome in _outcomes(report, chosen, work):
                results.keep(part.name, outcome, before, State.now())
    except KeyboardInterrupt:
        console.title("\nSo far, which --resume takes up:")
        report.table()
        raise
    return report.finish()


def _groups(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """In their order: those beside each other that need one core, or one that needs all."""
    for one_core, group in groupby(parts, lambda part: part.one_core):
        beside = list(group)
        yield from [beside] if one_core else ([part] for part in beside)


def _outcomes(report: Report, parts: Sequence[Part], work: Work) -> Iterator[tuple[Part, Outcome]]:
    """Runs several parts two at a time. An interrupt ends the programs of those that run."""
    if len(parts) == 1:
        yield parts[0], report.part(parts[0].name, lambda: parts[0].run(work))
        return
    with ThreadPoolExecutor(WORKERS) as threads:
        running = {
            part: threads.submit(report.part, part.name, partial(part.run, work)) for part in parts
        }
        try:
            for part, outcome in running.items():
                yield part, outcome.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


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
