"""Starts the workers, attributes crashes and time-outs to operators, and goes on after them."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable

from .process import Death, Worker
from .settings import Settings, Shard
from .worker import Plan

PHASES = ("forward", "backward")


class WorkerFailed(RuntimeError):
    """A worker that never got to its first operator: nothing can be said about any of them."""


@dataclasses.dataclass
class Outcome:
    """What all the workers have said."""

    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    catalog: list[dict] = dataclasses.field(default_factory=list)
    selected: list[str] = dataclasses.field(default_factory=list)
    entries: dict[str, dict] = dataclasses.field(default_factory=dict)
    unclean_exits: list[str] = dataclasses.field(default_factory=list)
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)


Progress = Callable[[int, int, str], None]  # finished, selected, operator


class Supervisor:
    """Runs all selected operators in `jobs` processes at a time."""

    def __init__(self, settings: Settings, jobs: int, timeout: float, progress: Progress):
        self._settings = settings
        self._jobs = jobs
        self._timeout = timeout
        self._progress = progress
        self._lock = threading.Lock()
        self._outcome = Outcome()
        self._errors: list[BaseException] = []
        self._stop = threading.Event()

    def run(self) -> Outcome:
        parts = [Shard(i, self._jobs) for i in range(1, self._jobs + 1)]
        threads = [threading.Thread(target=self._guarded, args=(part,)) for part in parts]
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

    def _guarded(self, part: Shard) -> None:
        try:
            self._run_part(part)
        except BaseException as error:
            self._errors.append(error)
            self._stop.set()

    def _run_part(self, part: Shard) -> None:
        done: list[str] = []
        while True:
            with Worker(Plan(self._settings, part, tuple(done)), self._timeout) as worker:
                left = self._listen(worker, done)
            if not left:
                return

    def _listen(self, worker: Worker, done: list[str]) -> bool:
        """Takes a worker's events to its end; true if it died and operators are left."""
        mine: list[str] | None = None
        op, backward, stage, started = None, False, "", 0.0
        while (event := worker.next_event(self._stop)) is not None:
            kind = event["event"]
            if kind == "hello":
                mine = event["mine"]
                self._hello(event)
            elif kind == "refused":
                raise WorkerFailed(event["error"])
            elif kind == "start":
                op, backward, stage = event["op"], event["backward"], ""
                started = time.monotonic()
                worker.start_clock()
            elif kind == "stage":
                stage = event["stage"]
            elif kind == "result":
                self._record(event["op"], event["phase"], event["entry"])
            elif kind == "finish":
                self._finish(event["op"], started, done)
                op = None
            elif kind == "bye":
                complaint = worker.leave()
                if complaint:
                    self._outcome.unclean_exits.append(complaint)
                return False
        if self._stop.is_set():
            return False
        death = worker.death()
        if mine is None:
            raise WorkerFailed(f"the worker did not start: {death.error}\n{worker.stderr_tail()}")
        if op is not None:
            self._bury(op, backward, stage, death)
            self._finish(op, started, done)
        elif started:  # between two operators: nobody's crash, but not to be hidden
            self._outcome.unclean_exits.append(death.error)
        else:  # starting again would end here again
            raise WorkerFailed(f"a worker died before its first operator: {death.error}")
        return len(done) < len(mine)

    def _hello(self, event: dict) -> None:
        with self._lock:
            if not self._outcome.catalog:
                self._outcome.versions = event["versions"]
                self._outcome.catalog = event["catalog"]
                self._outcome.selected = event["selected"]

    def _record(self, op: str, phase: str, entry: dict) -> None:
        with self._lock:
            self._outcome.entries.setdefault(op, {})[phase] = entry

    def _finish(self, op: str, started: float, done: list[str]) -> None:
        done.append(op)
        with self._lock:
            self._outcome.seconds[op] = time.monotonic() - started
            self._progress(len(self._outcome.seconds), len(self._outcome.selected), op)

    def _bury(self, op: str, backward: bool, stage: str, death: Death) -> None:
        """The phase that was running gets the blame; a later one could not be tried."""
        died_in = stage.partition(",")[0] or PHASES[0]
        entry = {"status": death.status, "error": death.error, "stage": stage, "trace": death.trace}
        self._record(op, died_in, entry)
        if backward and died_in == "forward":
            status = death.status.replace("_", " ")
            self._record(op, "backward", {"status": "skipped", "reason": f"forward {status}"})
