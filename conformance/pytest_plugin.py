"""Each entry as a test of pytest's: ``pytest -p torch_outback.conformance.pytest_plugin``.

With `--conformance-device`, the entries are collected beside whatever else pytest collects. They
run in the workers of a run of `outback conformance`, while pytest waits for each in turn.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import catalog, document, verdicts
from .expectations import Expectations
from .item import Item
from .levels import LEVELS
from .request import Request
from .run import Run
from .running.refused import Refused, WorkerFailed

_RUNNING = pytest.StashKey["_Running"]()
_OUTPUT = "conformance"  # of a worker of pytest-xdist


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "what PyTorch promises of a device")
    group.addoption("--conformance-device", metavar="DEVICE", help="check it: acme, acme:1")
    for name, metavar in (("import", "MODULE"), ("suite", "NAME")):
        group.addoption(f"--conformance-{name}", action="append", default=[], metavar=metavar)
    group.addoption("--conformance-level", choices=LEVELS, default="quick")
    group.addoption("--conformance-jobs", type=count, default=2, metavar="N")
    group.addoption("--conformance-timeout", type=seconds, default=120.0, metavar="SECONDS")
    group.addoption("--conformance-expectations", type=Path, metavar="FILE")
    group.addoption("--conformance-package", default=catalog.PACKAGE, help="of the suites")


def count(text: str) -> int:
    if int(text) < 1:
        raise ValueError(text)  # which argparse tells of
    return int(text)


def seconds(text: str) -> float:
    if not 0 < float(text) <= 1e6:  # nor is NaN
        raise ValueError(text)
    return float(text)


def pytest_configure(config: pytest.Config) -> None:
    if not config.option.conformance_device:
        return
    try:
        # A worker of pytest-xdist is given its tests one by one, and not all of them.
        config.stash[_RUNNING] = _Running(config.option, at_once=not hasattr(config, "workerinput"))
    except (Refused, OSError) as error:
        raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    if running := config.stash.get(_RUNNING, None):
        running.close()


def pytest_collection(session: pytest.Session) -> None:
    """Before anything is collected: what a worker refuses ends pytest."""
    if running := session.config.stash.get(_RUNNING, None):
        try:
            running.describe()
        except (Refused, WorkerFailed) as error:
            raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Before -k and the like leave some out."""
    if _RUNNING in config.stash:
        items += _Entries.from_parent(session, name="conformance", nodeid="conformance").collect()


def pytest_collection_finish(session: pytest.Session) -> None:
    if running := session.config.stash.get(_RUNNING, None):
        running.selected = [each.entry for each in session.items if isinstance(each, _Test)]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What is wrong with the run rather than with a test fails it too."""
    running = session.config.stash.get(_RUNNING, None)
    if running is not None and running.found:
        running.finish()
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_OUTPUT] = running.output()
        if running.problems() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker of pytest-xdist has ended: what it says of the run, which is no test's result."""
    running = node.config.stash.get(_RUNNING, None)
    if running is not None and _OUTPUT in (output := getattr(node, "workeroutput", {})):
        running.take(output[_OUTPUT])


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    running = config.stash.get(_RUNNING, None)
    if running is not None and running.found:
        terminalreporter.section("conformance")
        terminalreporter.line(running.headline())
        for problem in running.problems():
            terminalreporter.line(problem, red=True)


class _Running:
    """One run for all of the tests; it starts with the first of them."""

    def __init__(self, option: Any, at_once: bool):
        package = option.conformance_package
        file = option.conformance_expectations
        self.expectations = Expectations.load(file) if file else Expectations()
        self._request = Request(
            device=option.conformance_device,
            level=option.conformance_level,
            imports=tuple(option.conformance_import),
            suites=catalog.chosen(tuple(option.conformance_suite), package),
            chosen=bool(option.conformance_suite),
            jobs=option.conformance_jobs,
            timeout=option.conformance_timeout,
            tolerances=self.expectations.tolerances,
            package=package,
        )
        self.selected: list[Item] = []
        self.found: dict[str, dict[str, Any]] = {}
        self.items: list[Item] = []
        self._versions: dict[str, str] = {}
        self._known: dict[str, dict[str, Any]] = {}
        self._reported: dict[str, str] = {}  # what a test was told
        self._selected_elsewhere = 0
        self._problems_elsewhere: list[str] = []
        self._at_once = at_once
        self._ended = False
        self._run = Run(self._request, self._told)
        self._run.__enter__()
        self._arrived = threading.Condition()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def describe(self) -> None:
        found = self._run.catalog()
        self.items, self._known, self._versions = found.selected, found.results, found.versions

    def result(self, item: Item) -> dict[str, Any]:
        """Waits for it."""
        if item.id in self._known:
            self.found[item.id] = self._known[item.id]
        elif not self._at_once:
            self._run.run([item])
        elif self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        with self._arrived:
            self._arrived.wait_for(lambda: item.id in self.found or self._ended)
            if item.id not in self.found:
                raise RuntimeError(f"no worker told of {item.id}") from self._error
            self._reported[item.id] = self.found[item.id]["verdict"]
            return self.found[item.id]

    def finish(self) -> None:
        """Waits for the ends of the workers, where all tests have run."""
        if self._thread is not None and len(self._reported) == len(self.selected):
            self._thread.join()

    def output(self) -> dict[str, Any]:
        """For the process that has started this one: `take` is its other end."""
        verdicts_of = {id: found["verdict"] for id, found in self.found.items()}
        return {
            "selected": len(self.selected),
            "found": verdicts_of,
            "problems": self._of_workers(),
        }

    def take(self, output: dict[str, Any]) -> None:
        self._selected_elsewhere = output["selected"]  # each process has all of them
        for id, verdict in output["found"].items():
            self.found[id] = {"id": id, "verdict": verdict}
        self._problems_elsewhere += output["problems"]

    def headline(self) -> str:
        entries = self.expectations.applied(self.found.values())
        complete = len(entries) == (self._selected_elsewhere or len(self.selected))
        totals = document.totals(entries)
        made = {"totals": totals, "complete": complete, "versions": self._versions}
        return document.headline(made)

    def problems(self) -> list[str]:
        entries = self.expectations.applied(self.found.values())
        found = [*self._of_workers(), *self._problems_elsewhere]
        found += self.expectations.outlived(entries)
        if not any(each["verdict"] in (verdicts.PASS, verdicts.EXPECTED) for each in entries):
            found.append("nothing has passed, so the run shows nothing")
        return list(dict.fromkeys(found))

    def _of_workers(self) -> list[str]:
        """What their ends have shown."""
        ends = [f"a worker did not end as it should: {each}" for each in self._run.unclean_exits]
        later = [
            f"{id}: {found['message']}"  # which the end of its worker has shown
            for id, found in self.found.items()
            if found["verdict"] in verdicts.BAD and self._reported.get(id) == verdicts.PASS
        ]
        return [*ends, *later]

    def close(self) -> None:
        self._run.stop()
        if self._thread is not None:
            self._thread.join()
        self._run.__exit__()

    def _work(self) -> None:
        try:
            self._run.run([item for item in self.selected if item.id not in self._known])
        except BaseException as error:  # told by the test that waits
            self._error = error
        with self._arrived:
            self._ended = True
            self._arrived.notify_all()

    def _told(self, entry: dict[str, Any]) -> None:
        with self._arrived:
            self.found[entry["id"]] = entry
            self._arrived.notify_all()


class _Entries(pytest.Collector):
    """All that the level and the suites have."""

    def collect(self) -> list[pytest.Item]:
        running = self.config.stash[_RUNNING]
        return [_Test.from_parent(self, name=item.id, entry=item) for item in running.items]


class _NotAsPromised(Exception):
    """The text is what pytest prints of a failure."""


class _Test(pytest.Item):
    def __init__(self, *, entry: Item, **more: Any):
        super().__init__(**more)
        self.entry = entry
        if line := self.config.stash[_RUNNING].expectations.of(entry.id):
            self.add_marker(pytest.mark.xfail(reason=line.reason, strict=line.exact))

    def runtest(self) -> None:
        found = self.config.stash[_RUNNING].result(self.entry)
        if found["verdict"] == verdicts.UNSUPPORTED:
            pytest.skip(f"unsupported: {found['reason']}")
        if found["verdict"] == verdicts.SKIPPED:
            pytest.skip(found["reason"])
        if found["verdict"] != verdicts.PASS:
            raise _NotAsPromised("\n".join(_told(found)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo, style: Any = None) -> Any:
        if isinstance(excinfo.value, _NotAsPromised):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return Path("conformance"), None, self.entry.id


def _told(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['verdict']}: {found['message']}"
    for before, name in (
        ("has to hold: ", "promise"),
        ("called by:   ", "called_by"),
        ("without it:  ", "without"),
        ("", "trace"),
        ("to see it again:\n", "reproduction"),
    ):
        if name in found:
            yield f"{before}{found[name]}"
