"""./dev test: what CI runs, with --all everything that takes longer, and by name just a few."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from . import build, console, lint
from .environment import Environment
from .report import Report
from .testing import changed, index, listing, parts, quick, runner, suites
from .testing.choice import Choice, Tree
from .testing.names import Names
from .testing.parts import Work
from .testing.pytest_run import run_pytest

__all__ = ["Options", "run", "run_pytest"]


@dataclass
class Options:
    names: list[str] = field(default_factory=list)
    all: bool = False
    only: list[str] = field(default_factory=list)
    resume: bool = False
    list_parts: bool = False
    list_tests: bool = False
    changed: bool = False
    on: list[str] = field(default_factory=list)
    everywhere: bool = False
    stop: bool = False

    def check(self) -> None:
        """Raises WrongUsage where one option says the contrary of another."""
        what = {
            "PATH_OR_NAME": self.names,
            "--all": self.all,
            "--only": self.only,
            "--list": self.list_parts,
            "--list-tests": self.list_tests,
            "--changed": self.changed,
        }
        said = [name for name, value in what.items() if value]
        if len(said) > 1:
            raise console.WrongUsage(f"{' and '.join(said)}: one of them at a time.")
        if (self.on or self.everywhere) and not self.names:
            raise console.WrongUsage("--on and --everywhere say on what PATH_OR_NAME is to run.")
        parts.named(self.only)
        for name in self.on:
            suites.on(name)
        if self.resume and (self.names or self.changed):
            raise console.WrongUsage("--resume is for the parts: of ./dev test, --all and --only.")

    @property
    def is_quick(self) -> bool:
        """Whether somebody waits for few tests, not for a machine to be looked at."""
        return bool(self.names or self.list_parts)


def run(environment: Environment, options: Options) -> int:
    if options.list_parts:
        return runner.list_parts(environment, parts.PARTS, parts.of(parts.SHORT))
    if options.names:
        return _named(environment, options)
    if options.changed:
        return _changed(environment, options)
    if options.list_tests:
        return _list_tests(environment)
    chosen = parts.named(options.only) if options.only else None
    if chosen is None:
        chosen = parts.of(parts.LONG if options.all else parts.SHORT)
    return runner.run(environment, chosen, options.resume)


def _named(environment: Environment, options: Options) -> int:
    on = [suites.on(name) for name in options.on] or suites.PYTHON_SUITES[:1]
    if options.everywhere:
        on = suites.PYTHON_SUITES
    known = index.Index()

    def choose(tree: Tree) -> Choice:
        return Names(tree, known, on).choose(options.names)

    tree, choice = quick.prepare(environment, choose)
    report = Report()
    # On one run somebody has asked for this very test; on all, each takes those that are for it.
    marked = options.everywhere
    quick.run(environment, tree, choice, report, stop=options.stop, marked=marked)
    return report.finish()


def _changed(environment: Environment, options: Options) -> int:
    changes = changed.Changes.find()
    console.title(f"{len(changes.files)} files differ from {changes.since}")
    plan = changed.plan(changes.files)
    if plan.everything:
        console.title(f"  everything: {plan.everything}")
        return runner.run(environment, parts.of(parts.SHORT), False)
    if not changes.files:
        return 0
    known = index.files()
    tree, choice = quick.prepare(
        environment,
        lambda tree: changed.choose(plan, tree, known),
        lambda choice: console.title(changed.explanation(plan, choice)),
    )
    report = Report()
    report.part("format", lambda: lint.check_format(environment, changes.files))
    quick.run(environment, tree, choice, report, stop=options.stop, marked=True)
    _run_parts(environment, report, plan.parts)
    return report.finish()


def _run_parts(environment: Environment, report: Report, names: Sequence[str]) -> None:
    chosen = parts.named(list(names))
    if any(part.on_dev for part in chosen):
        report.part("build dev", lambda: runner.build_dev(environment))
    work = Work(environment, environment.build / "dev")
    for part in chosen:
        report.part(part.name, lambda part=part: part.run(work))


def _list_tests(environment: Environment) -> int:
    folder = build.build(environment, "dev")
    print(listing.text(listing.of_short_run(environment, folder)), end="", flush=True)
    return 0
