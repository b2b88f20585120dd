"""Starts the workers, attributes crashes and time-outs to phases, and goes on after them."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext

from .forked import ForkServer
from .process import Death, Worker, fork_server
from .settings import Settings, Shard
from .worker import Plan


class WorkerFailed(RuntimeError):
    """A worker that never got to its first subject: nothing can be said about any of them."""


@dataclasses.dataclass
class Outcome:
    """What all the workers have said."""

    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    catalog: list[dict] = dataclasses.field(default_factory=list)
    selected: list[str] = dataclasses.field(default_factory=list)
    entries: dict[str, dict] = dataclasses.field(default_factory=dict)  # by key, then by phase
    unclean_exits: list[str] = dataclasses.field(default_factory=list)
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)


Progress = Callable[[int, int, str], None]  # phases finished, phases in all, subject


class Supervisor:
    """Runs all selected subjects in `jobs` processes at a time."""

    def __init__(
        self,
        settings: Settings,
        jobs: int,
        timeout: float,
        progress: Progress,
        server: ForkServer | None = None,
    ):
        """`server` forks the workers, as long as run() takes; without one run() starts its own."""
        self._settings = settings
        self._jobs = jobs
        self._timeout = timeout
        self._progress = progress
        self._server = server
        self._lock = threading.Lock()
        self._outcome = Outcome()
        self._errors: list[BaseException] = []
        self._stop = threading.Event()
        self._finished = self._total = 0

    def run(self) -> Outcome:
        with fork_server() if self._server is None else nullcontext(self._server) as server:
            return self._run(server)

    def _run(self, server: ForkServer) -> Outcome:
        parts = [Shard(i, self._jobs) for i in range(1, self._jobs + 1)]
        threads = [threading.Thread(target=self._guarded, args=(part, server)) for part in parts]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        finally:
            self._stop.set()  # an interrupt: the threads end their workers
        if self._errors:
            raise self._errors[0]
        return self._outcome

    def _guarded(self, part: Shard, server: ForkServer) -> None:
        try:
            self._run_part(part, server)
        except BaseException as error:
            self._errors.append(error)
            self._stop.set()

    def _run_part(self, part: Shard, server: ForkServer) -> None:
        done: list[tuple[str, str]] = []
        through = False
        while not through and not self._stop.is_set():
            plan = Plan(self._settings, part, tuple(done))
            with Worker(plan, self._timeout, server) as worker:
                through = self._listen(worker, done)

    def _listen(self, worker: Worker, done: list[tuple[str, str]]) -> bool:
        """Takes a worker's events to its end; false if it died, and another has to go on."""
        running: tuple[str, str] | None = None
        sample, side, started = 0, "device", 0.0
        while (event := worker.next_event(self._stop)) is not None:
            kind = event["event"]
            if kind == "hello":
                self._hello(event)
            elif kind == "refused":
                raise WorkerFailed(event["error"])
            elif kind == "start":
                running = event["subject"], event["phase"]
                sample, side, started = 0, "device", time.monotonic()
                worker.start_clock()
            elif kind == "sample":
                sample, side = event["number"], "device"
            elif kind == "side":
                side = event["side"]
            elif kind == "result":
                self._record(event["subject"], event["phase"], event["entry"], started, done)
                running = None
            elif kind == "bye":
                if complaint := worker.leave():
                    self._outcome.unclean_exits.append(complaint)
                return True
        if self._stop.is_set():
            return True
        death = worker.death()
        if running is not None:
            self._record(*running, _entry_of(death, sample, side), started, done)
        elif started:  # between two subjects: nobody's crash, but not to be hidden
            self._outcome.unclean_exits.append(death.error)
        else:  # starting again would end here again
            raise WorkerFailed(
                f"a worker died before its first subject: {death.error}\n{worker.stderr_tail()}"
            )
        return False

    def _hello(self, event: dict) -> None:
        with self._lock:
            if not self._outcome.catalog:
                self._outcome.versions = event["versions"]
                self._outcome.catalog = event["catalog"]
                self._outcome.selected = event["selected"]
                selected = set(event["selected"])
                self._total = sum(
                    len(entry["phases"]) for entry in event["catalog"] if entry["key"] in selected
                )

    def _record(
        self, subject: str, phase: str, entry: dict, started: float, done: list[tuple[str, str]]
    ) -> None:
        done.append((subject, phase))
        with self._lock:
            self._outcome.entries.setdefault(subject, {})[phase] = entry
            seconds = time.monotonic() - started
            self._outcome.seconds[subject] = self._outcome.seconds.get(subject, 0) + seconds
            self._finished += 1
            self._progress(self._finished, self._total, subject)


def _entry_of(death: Death, sample: int, side: str) -> dict:
    """Of the phase that a worker died in; what the CPU dies of is no answer to compare with."""
    if side == "cpu":
        how = {"crashed": "crashes", "timed_out": "hangs"}[death.status]
        return {"status": "skipped", "reason": f"the CPU {how}: {death.error}", "sample": sample}
    return {
        "status": death.status,
        "sample": sample,
        "error": death.error,
        "trace": death.trace,
    }
