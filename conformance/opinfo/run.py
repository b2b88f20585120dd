"""A run of PyTorch's samples alone, as the result files of one backend are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import nullcontext

from ..running.forked import ForkServer
from ..running.process import fork_server
from ..running.supervisor import Supervisor
from .settings import SHARED, SOURCE, Settings


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


def run(
    settings: Settings,
    jobs: int,
    timeout: float,
    progress: Progress,
    server: ForkServer | None = None,
) -> Outcome:
    """`server` forks the workers; without one there is one for this run."""
    outcome = Outcome()
    total = 0

    def heard(address: tuple[str, str], entry: dict, seconds: float) -> None:
        key, phase = address
        outcome.entries.setdefault(key, {})[phase] = entry
        outcome.seconds[key] = outcome.seconds.get(key, 0) + seconds
        progress(sum(map(len, outcome.entries.values())), total, key)

    with fork_server(*SHARED) if server is None else nullcontext(server) as forking:
        supervisor = Supervisor(
            *(SOURCE, settings.to_json(), forking, heard),
            jobs=jobs,
            timeout=timeout,
            blames=False,
        )
        said = supervisor.describe().said
        outcome.versions, outcome.catalog = said["versions"], said["catalog"]
        outcome.selected = said["selected"]
        wanted = set(outcome.selected)
        todo = [
            (subject["key"], phase)
            for subject in outcome.catalog
            if subject["key"] in wanted
            for phase in subject["phases"]
        ]
        total = len(todo)
        supervisor.run(todo)
    outcome.unclean_exits = supervisor.unclean_exits
    return outcome
