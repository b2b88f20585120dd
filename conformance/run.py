"""A run: what there is, what of it is selected, and what became of it."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import filtering, item, reproduction, suite_settings, verdicts
from .catalog import TITLES
from .item import Item
from .opinfo import settings as sample_settings
from .request import Request
from .running.forked import ForkServer
from .running.process import fork_server
from .running.source import Entry
from .running.supervisor import Described, Supervisor

# Told of each result as it comes, as the document will have it. One call at a time.
Told = Callable[[dict[str, Any]], None]


@dataclasses.dataclass
class Catalog:
    """What there is, and what of it a run is about."""

    versions: dict[str, str]
    titles: dict[str, str]
    items: list[Item]
    selected: list[Item]
    results: dict[str, dict[str, Any]]  # what is known already: suites that cannot be loaded
    # The packages of the backend that was tested, and their files.
    backend: dict[str, str] = dataclasses.field(default_factory=dict)
    sampled: str = ""  # what of all that there is, where the document cannot say it by the items


class Run:
    """The workers of one run; both kinds of them start at once, since that takes seconds."""

    def __init__(
        self, request: Request, told: Told = lambda _: None, servers: Servers | None = None
    ):
        self.request = request
        self._told = told
        self._servers = servers
        self._open = contextlib.ExitStack()
        self._supervisors: list[Supervisor] = []
        self._items: dict[tuple[str, str], Item] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Run:
        servers = self._servers or self._open.enter_context(Servers())
        for source, settings, shared in _sources(self.request):
            self._supervisors.append(
                Supervisor(
                    *(source, settings, servers.of(shared), self._heard),
                    jobs=self.request.jobs,
                    timeout=self.request.timeout,
                )
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._open.close()

    def stop(self) -> None:
        """Ends it from another thread, with what it has."""
        for supervisor in self._supervisors:
            supervisor.stop()

    def catalog(self) -> Catalog:
        """Raises WorkerFailed where that cannot be said, and Refused where the filter is none."""
        wanted = filtering.compiled(self.request.filter) if self.request.filter else None
        with ThreadPoolExecutor(max(1, len(self._supervisors))) as threads:
            try:
                described = list(threads.map(Supervisor.describe, self._supervisors))
            except BaseException:  # an interrupt: or else the threads are waited for
                self.stop()
                raise
        found = Catalog({}, {}, [], [], {})
        for each in described:
            _add(found, each)
        order = {suite: number for number, suite in enumerate(self.request.suites)}
        found.items.sort(key=lambda each: order[each.suite])  # stable: in a suite as it is
        found.titles |= {name: TITLES[name] for name in self.request.suites if name in TITLES}
        found.selected = [
            each for each in found.items if self._has(each) and (wanted is None or wanted(each.id))
        ]
        self._items = {each.address: each for each in found.items}
        return found

    def run(self, items: Sequence[Item]) -> None:
        """Of this catalog, or of another one of the same suites. Raises WorkerFailed."""
        self._items |= {each.address: each for each in items}
        for supervisor, is_sample in zip(self._supervisors, self._kinds(), strict=True):
            todo = [each for each in items if each.is_sample == is_sample]
            alone = {each.key for each in todo if each.alone}
            supervisor.run([each.address for each in todo], alone)

    @property
    def unclean_exits(self) -> list[str]:
        """Of workers, which are no entry's result."""
        return [said for supervisor in self._supervisors for said in supervisor.unclean_exits]

    def _kinds(self) -> list[bool]:
        """Of each supervisor whether it runs samples."""
        return [source == sample_settings.SOURCE for source, _, _ in _sources(self.request)]

    def _has(self, each: Item) -> bool:
        names = self.request.samples.names
        if each.is_sample:
            return not names or each.name in names
        return each.is_of(self.request.level)

    def _heard(self, address: tuple[str, str], entry: Entry, seconds: float) -> None:
        with self._lock:
            each = self._items[address]
            found = verdicts.of(each, entry, seconds)
            if found["verdict"] in verdicts.BAD:
                found["reproduction"] = reproduction.of(self.request, each, found)
                found["reproduction_language"] = reproduction.language(each)
            self._told(found)


class Servers:
    """A process for each set of shared modules and environment, which forks the workers."""

    def __init__(self) -> None:
        self._open = contextlib.ExitStack()
        self._servers: dict[tuple, ForkServer] = {}

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def of(self, shared: tuple[str, ...], **environment: str) -> ForkServer:
        key = shared, *sorted(environment.items())
        if key not in self._servers:
            self._servers[key] = self._open.enter_context(fork_server(*shared, **environment))
        return self._servers[key]


def _sources(request: Request) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Each with its settings, and the modules that its workers share."""
    suites = request.suite_settings()
    if suites is not None:
        yield suite_settings.SOURCE, suites.to_json(), suite_settings.SHARED
    samples = request.sample_settings()
    if samples is not None:
        yield sample_settings.SOURCE, samples.to_json(), sample_settings.SHARED


def _add(found: Catalog, described: Described) -> None:
    said = described.said
    found.versions |= said["versions"]
    found.backend |= said.get("backend", {})
    found.titles |= said.get("titles", {})
    for each in said["catalog"]:
        found.items += item.of_sample(each) if "kind" in each else [item.of_check(each)]
    for suite, death in described.deaths.items():
        loading = Item(suite, suite_settings.LOADING, f"{suite}/{suite_settings.LOADING}")
        entry = {"status": death.status, "error": death.error, "trace": death.trace}
        found.items.append(loading)
        found.titles[suite] = suite
        found.results[loading.id] = verdicts.of(loading, entry, 0.0)
