"""Starts the workers, attributes crashes and time-outs to entries, and goes on after them."""

from __future__ import annotations

import collections
import dataclasses
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from .forked import ForkServer
from .plan import Address, Plan
from .process import Death, Worker
from .refused import WorkerFailed
from .source import Entry

# Told of each result: what ran, what came of it, and how many seconds it took. One call at a time.
Heard = Callable[[Address, Entry, float], None]


@dataclasses.dataclass(frozen=True)
class Described:
    """What a source says of itself, and what the units died of that cannot be loaded."""

    said: dict[str, Any]
    deaths: dict[str, Death]


@dataclasses.dataclass
class _Running:
    """What a worker is at, as its events tell."""

    address: Address | None = None
    unit: str = ""
    sample: int = 0
    side: str = "device"
    since: float = 0.0


class Supervisor:
    """Runs entries of one source in `jobs` processes at a time."""

    def __init__(
        self,
        source: str,
        settings: str,
        server: ForkServer,
        heard: Heard,
        *,
        jobs: int = 1,
        timeout: float = 120.0,
        blames: bool = True,
    ):
        """`blames`: looks for the entry after which a worker ended unclean."""
        self._plan = Plan(source, settings)
        self._server = server
        self._heard = heard
        self._jobs = jobs
        self._timeout = timeout
        self._blames = blames
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._errors: list[BaseException] = []
        self._tasks: collections.deque[list[Address]] = collections.deque()
        self.unclean_exits: list[str] = []

    def stop(self) -> None:
        """Ends a run from another thread, with what it has."""
        self._stop.set()

    def describe(self) -> Described:
        """Raises WorkerFailed."""
        deaths: dict[str, Death] = {}
        while True:
            self._plan = dataclasses.replace(self._plan, without=tuple(deaths))
            running = _Running()
            with self._worker(None) as worker:
                while (event := worker.next_event(self._stop)) is not None:
                    if event["event"] == "hello":
                        return Described(event["described"], deaths)
                    if event["event"] == "refused":
                        raise WorkerFailed(event["error"])
                    if event["event"] == "loading":
                        running.unit = event["unit"]
                        worker.start_clock(event["seconds"])
                death = worker.death()
                if not running.unit or running.unit in deaths:
                    raise _no_start(worker, death)
                deaths[running.unit] = death

    def run(self, todo: Sequence[Address], alone: Collection[str] = ()) -> None:
        """All of `todo`; the subjects `alone` have a process for each of their entries."""
        self._tasks.extend(_parts([each for each in todo if each[0] not in alone], self._jobs))
        self._tasks.extend([each] for each in todo if each[0] in alone)
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self._jobs)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:  # an interrupt: the threads end their workers
            self._stop.set()
            for thread in threads:
                thread.join()
            raise
        if self._errors:
            raise self._errors[0]

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    task = self._tasks.popleft()
                except IndexError:
                    return
                self._run_task(task)
        except BaseException as error:  # told by run(), in the caller's thread
            self._errors.append(error)
            self._stop.set()

    def _run_task(self, task: list[Address]) -> None:
        while task and not self._stop.is_set():
            ran: list[Address] = []
            complaint = self._run_worker(task, ran)
            task = task[len(ran) :]
            if complaint:
                self._unclean(ran, complaint)

    def _run_worker(self, todo: list[Address], ran: list[Address]) -> str:
        """Says what was wrong with the end of the worker, if that is no entry's result."""
        running = _Running()
        with self._worker(todo) as worker:
            while (event := worker.next_event(self._stop)) is not None:
                if event["event"] == "refused":
                    raise WorkerFailed(event["error"])
                if event["event"] == "bye":
                    # Who has stopped the run asks for no more, and torch takes long to end.
                    return "" if self._stop.is_set() else worker.leave()
                result = _follow(event, running, worker)
                if result and running.address is not None:
                    ran.append(running.address)
                    self._record(running, result)
                    running.address = None
            if self._stop.is_set():
                return ""
            death = worker.death()
            if running.address is not None:
                ran.append(running.address)
                self._record(running, _entry_of(death, running.sample, running.side))
                return ""
            if not ran:  # starting again would end here again
                raise _no_start(worker, death)
            return death.error  # between two entries

    def _unclean(self, ran: list[Address], complaint: str) -> None:
        """The result of the entry that a worker's unclean end comes of, where one is found."""
        if self._blames and (by_itself := self._exit_of([])):
            complaint = f"{by_itself}, after loading the backend alone too"
        elif self._blames and (found := self._blamed(ran, complaint)):
            address, why = found
            with self._lock:
                self._heard(address, {"status": "crashed", "error": why}, 0.0)
            return
        with self._lock:
            if complaint not in self.unclean_exits:
                self.unclean_exits.append(complaint)

    def _blamed(self, ran: list[Address], complaint: str) -> tuple[Address, str] | None:
        """Runs halves again until one entry is left, and that one by itself."""
        again = len(ran) > 1
        while len(ran) > 1:
            half = ran[: len(ran) // 2]
            ran = half if self._exit_of(half) else ran[len(ran) // 2 :]
        if again:
            complaint = self._exit_of(ran)
        return (ran[0], complaint) if complaint else None

    def _exit_of(self, todo: list[Address]) -> str:
        """What is wrong with the end of a worker that runs these, whose results are known."""
        with self._worker(todo) as worker:
            while (event := worker.next_event(self._stop)) is not None:
                if event["event"] == "start":
                    worker.start_clock()
                elif event["event"] == "bye":
                    return worker.leave()
            return ""

    def _record(self, running: _Running, entry: Entry) -> None:
        assert running.address is not None
        with self._lock:
            self._heard(running.address, entry, time.monotonic() - running.since)

    def _worker(self, todo: list[Address] | None) -> Worker:
        plan = dataclasses.replace(self._plan, todo=None if todo is None else tuple(todo))
        return Worker(plan, self._timeout, self._server)


def _parts(todo: Sequence[Address], count: int) -> list[list[Address]]:
    """Interleaved by subject: the phases of one share its samples, and stay together."""
    subjects: dict[str, list[Address]] = {}
    for address in todo:
        subjects.setdefault(address[0], []).append(address)
    dealt = [list(subjects.values())[first::count] for first in range(count)]
    return [[address for one in part for address in one] for part in dealt if part]


def _follow(event: dict, running: _Running, worker: Worker) -> Entry | None:
    """Notes where the worker is; its entry, where one has ended."""
    kind = event["event"]
    if kind == "result":
        return event["entry"]
    if kind == "start":
        running.address = event["key"], event["phase"]
        running.sample, running.side, running.since = 0, "device", time.monotonic()
        worker.start_clock()
    elif kind == "sample":
        running.sample, running.side = event["number"], "device"
    elif kind == "side":
        running.side = event["side"]
    return None


def _no_start(worker: Worker, death: Death) -> WorkerFailed:
    return WorkerFailed(
        f"a worker died before its first entry: {death.error}\n{worker.stderr_tail()}"
    )


def _entry_of(death: Death, sample: int, side: str) -> Entry:
    """Of the entry that a worker died in; what the CPU dies of is no answer to compare with."""
    if side == "cpu":
        how = {"crashed": "crashes", "timed_out": "hangs"}[death.status]
        return {"status": "skipped", "reason": f"the CPU {how}: {death.error}", "sample": sample}
    return {
        "status": death.status,
        "sample": sample,
        "error": death.error,
        "trace": death.trace,
    }
