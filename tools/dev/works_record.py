"""What the last long run of the Python tests found on each runtime: a file of the tree, from which
the tables of what works are written without another run."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from . import console, shell
from .paths import LOG, ROOT
from .python_runs import RUNS, TESTS, Run

FILE = ROOT / "tests/python/what_worked.json"

# What a skipped test says where the runtime lacks something. All else is said of this torch, of the
# test's own subject, or of a runtime that has more than the test is about.
_LACKS = re.compile(
    r"this runtime has no |this runtime's |needs (?!torch )|the CPU cannot address this device"
)


class NotWhole(Exception):
    """A run that does not speak for its runtime."""


@dataclass
class Found:
    """In one module of tests, on one runtime."""

    passed: bool = False  # a test at least
    lacking: set[str] = field(default_factory=set)  # what the tests that were left out said


@dataclass
class Column:
    """Of one runtime."""

    commit: str
    time: str  # when it began
    modules: dict[str, Found]  # by their path in tests/python


def commit() -> str:
    """What the working tree is, as the results of a run say it: `-o junit_suite_name`."""
    return shell.output(
        ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    ).strip()


def results(run: Run) -> Path:
    """Where ./dev test --all leaves what pytest says of a runtime."""
    return LOG / f"pytest-whole-{run.short_name}.xml"


def load() -> dict[str, Column]:
    document = json.loads(FILE.read_text(encoding="utf-8"))
    columns = {name: Column(*document["runs"][name], {}) for name in document["runs"]}
    for module, found in document["modules"].items():
        for name, (passed, *lacking) in found.items():
            columns[name].modules[module] = Found(passed, set(lacking))
    return columns


def update() -> None:
    """Takes over what long runs have left in build/log since, but for those with a failure."""
    columns = load()
    for run in RUNS:
        if not results(run).exists():
            continue
        try:
            column = read(results(run))
        except NotWhole as why:
            console.title(f"  not in the tables of what works: {why}")
            continue
        if run.heading not in columns or column.time > columns[run.heading].time:
            columns[run.heading] = column
    save({run.heading: columns[run.heading] for run in RUNS if run.heading in columns})


def save(columns: dict[str, Column]) -> None:
    lines = [
        f"  {json.dumps(module)}: "
        + json.dumps(
            {
                name: [of.modules[module].passed, *sorted(of.modules[module].lacking)]
                for name, of in columns.items()
                if module in of.modules
            }
        )
        for module in sorted({module for of in columns.values() for module in of.modules})
    ]
    runs = json.dumps({name: [of.commit, of.time] for name, of in columns.items()})
    text = f'{{"runs": {runs},\n "modules": {{\n' + ",\n".join(lines) + "\n}}\n"
    FILE.write_text(text, encoding="utf-8")


def read(file: Path) -> Column:
    """From pytest's results in JUnit's format."""
    suite = next(ElementTree.parse(file).iter("testsuite"))
    modules: dict[str, Found] = {}
    for case in suite.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            raise NotWhole(f"in {file.name}, {case.get('name')} failed")
        found = modules.setdefault(_module(case.get("classname", "")), Found())
        skipped = case.find("skipped")
        if skipped is None:
            found.passed = True
        elif _LACKS.match(reason := _reason(skipped)):
            found.lacking.add(reason)
    return Column(suite.get("name", ""), suite.get("timestamp", "")[:19], modules)


def _module(classname: str) -> str:
    """Its path in tests/python: what comes after it is a class."""
    path = ROOT
    for part in classname.split("."):
        path /= part
        if path.with_suffix(".py").is_file():
            return path.with_suffix(".py").relative_to(ROOT / TESTS).as_posix()
    raise NotWhole(f"a run of this tree is needed: {classname} is no longer there")


def _reason(skipped: ElementTree.Element) -> str:
    text = skipped.get("message") or "expected to fail"
    return re.sub(r"^Skipped: ", "", text).strip().replace("|", "\\|").replace("\n", " ")
