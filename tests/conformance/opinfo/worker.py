"""Runs one part of a catalog in this process and reports each step on a pipe, line by line.

``python -m opinfo.worker FD`` reads its Plan as JSON from standard input. What a subject prints
goes to standard error, so nothing but events reaches the pipe.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import importlib
import json
import os
import platform
import sys
import warnings
from collections.abc import Callable

from .settings import Settings, Shard


@dataclasses.dataclass(frozen=True)
class Plan:
    """A worker's part: of what is selected that of `part`, without the phases in `done`."""

    settings: Settings
    part: Shard
    done: tuple[tuple[str, str], ...] = ()  # key of the subject, phase

    def to_json(self) -> str:
        return json.dumps(
            {
                "settings": self.settings.to_json(),
                "part": [self.part.index, self.part.count],
                "done": self.done,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Plan:
        fields = json.loads(text)
        return cls(
            Settings.from_json(fields["settings"]),
            Shard(*fields["part"]),
            tuple((key, phase) for key, phase in fields["done"]),
        )


def main(pipe: int) -> None:
    faulthandler.enable(sys.stderr)  # says where a crash happened; also on the abort of a time-out
    warnings.simplefilter("ignore")
    events = os.fdopen(pipe, "w", buffering=1, encoding="utf-8")
    plan = Plan.from_json(sys.stdin.read())

    def emit(event: str, **fields: object) -> None:
        events.write(json.dumps({"event": event, **fields}) + "\n")

    run(plan, emit)


def run(plan: Plan, emit: Callable[..., None]) -> None:
    import torch

    torch.set_num_threads(1)
    settings = plan.settings
    for name in settings.imports:
        importlib.import_module(name)

    from . import catalog
    from .checks import Checker
    from .subjects import describe, key_of

    try:
        subjects = catalog.load(settings)
        selected = catalog.select(subjects, settings)
    except ValueError as error:
        emit("refused", error=str(error))
        return
    emit(
        "hello",
        versions=versions(settings),
        catalog=[describe(subject) for subject in subjects],
        selected=[key_of(subject) for subject in selected],
    )
    checker = Checker(
        settings,
        announce=lambda sample: emit("sample", number=sample),
        announce_side=lambda side: emit("side", side=side),
    )
    done = set(plan.done)
    for subject in plan.part.of(selected):
        key = key_of(subject)
        for phase in subject.phases:
            if (key, phase) not in done:
                emit("start", subject=key, phase=phase)
                emit("result", subject=key, phase=phase, entry=checker.check(subject, phase))
    emit("bye")


def versions(settings: Settings) -> dict[str, str]:
    """Of everything that decides which subjects and samples there are, and of the backend."""
    found = {"python": platform.python_version()}
    for name in ("torch", "numpy", "scipy", *settings.imports):
        try:
            found[name] = str(getattr(importlib.import_module(name), "__version__", "unknown"))
        except ImportError:
            found[name] = "absent"
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]))
