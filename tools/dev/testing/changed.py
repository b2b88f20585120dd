"""./dev test --changed: what belongs to the files that differ from origin/main."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import console, shell
from ..paths import ROOT
from . import areas, suites
from .areas import Area
from .choice import Choice, Tree

_COMPILED = (".c", ".cpp", ".h", ".hpp", ".inc")


@dataclass
class Changes:
    since: str  # what the files were compared with, for people
    files: list[str]

    @classmethod
    def find(cls) -> "Changes":
        """Those of commits, of the working tree, and files that git does not know yet."""
        since, base = _base()
        differ = _lines("diff", "--name-only", "--no-renames", base)
        return cls(since, sorted({*differ, *_lines("ls-files", "-o", "--exclude-standard")}))


@dataclass
class Plan:
    """`everything` names a file that may concern every test, and why it does."""

    everything: str = ""
    areas: dict[Area, list[str]] = field(default_factory=dict)

    @property
    def parts(self) -> list[str]:
        return list(dict.fromkeys(part for area in self.areas for part in area.parts))


def plan(files: Sequence[str]) -> Plan:
    made = Plan()
    for file in files:
        area = areas.of(file)
        if area is not None:
            made.areas.setdefault(area, []).append(file)
        elif not made.everything:
            why = "concerns every test" if areas.is_listed(file) else "is in no area"
            made.everything = f"{file} {why}"
    return made


def choose(plan: Plan, tree: Tree, all_files: Sequence[str]) -> Choice:
    choice = Choice()
    _add(choice, tree, areas.READERS, ())
    for area, files in plan.areas.items():
        there = [file for file in files if (ROOT / file).exists()]
        compiled = [file for file in there if Path(file).suffix in _COMPILED]
        tree.add_users(choice, [Path(file) for file in compiled])
        if area.always:
            tree.add_matching(choice, area.always)
        runs = [suites.on(run) for run in area.runs]
        _add(choice, tree, areas.tests(area.python, all_files), runs)
        _add(choice, tree, areas.tests(area.everywhere, all_files), suites.PYTHON_SUITES)
        if area.itself:
            _add(choice, tree, there, suites.PYTHON_SUITES)
    return choice


def explanation(plan: Plan, choice: Choice) -> str:
    """What is run and why, in lines."""
    lines = ["because of"]
    for area, files in plan.areas.items():
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        lines.append(f"  {area.name}: {files[0]}{more}")
    lines.append("this is run")
    count = len(choice.whole) + len(choice.filtered)
    if count:
        lines.append(f"  cpp: {count} of ctest's entries")
    lines += [f"  {suite.name}: {' '.join(tests)}" for suite, tests in choice.python.items()]
    lines += [f"  {part}" for part in ("format", *plan.parts)]
    return "\n".join(lines)


def _add(choice: Choice, tree: Tree, tests: Sequence[str], runs: Sequence[suites.Suite]) -> None:
    for test in tests:
        running = suites.of(test)
        if running and running[0] in suites.PYTHON_SUITES:
            running = list(runs)
        for suite in running:
            tree.add_python(choice, suite, [test])


def _base() -> tuple[str, str]:
    """What this work began from: said for people, and the commit."""
    for name in ("origin/main", "main@{upstream}", "main"):
        if _lines("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"):
            found = _lines("merge-base", "HEAD", name)
            if found:
                said = name if name == "origin/main" else f"{name} (there is no origin/main)"
                return said, found[0]
    if not _lines("rev-parse", "--verify", "--quiet", "HEAD"):
        raise console.Failure("--changed needs git, and a commit to compare with.")
    return "the last commit (there is neither origin/main nor main)", "HEAD"


def _lines(*command: str) -> list[str]:
    return shell.output(["git", "-c", "core.quotePath=off", *command]).splitlines()
