"""When work on streams began and ended, as the device's events say it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.acme import Event


@dataclass(frozen=True)
class Piece:
    kind: str
    name: str
    lane: str
    begin: float  # milliseconds since the timeline was made
    end: float


class Timeline:
    def __init__(self) -> None:
        torch.acme.synchronize()
        self._start = Event(enable_timing=True)
        self._start.record()
        self._events: list[tuple[tuple[str, str, str], Event, Event]] = []

    def run(self, kind: str, name: str, lane: str, work: Callable[[], object]) -> None:
        """Runs `work` between two events on the current stream."""
        begin, end = Event(enable_timing=True), Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        self._events.append(((kind, name, lane), begin, end))

    def pieces(self) -> list[Piece]:
        torch.acme.synchronize()
        since = self._start.elapsed_time
        return [Piece(*what, since(begin), since(end)) for what, begin, end in self._events]


def duration(pieces: list[Piece]) -> float:
    return max(piece.end for piece in pieces)


def overlap(pieces: list[Piece]) -> float:
    """The part of the time of all copies in which something was computed as well."""
    copies = [piece for piece in pieces if piece.kind == "copy"]
    computes = [piece for piece in pieces if piece.kind == "compute"]
    both = sum(max(0, min(a.end, b.end) - max(a.begin, b.begin)) for a in copies for b in computes)
    return both / sum(copy.end - copy.begin for copy in copies)


def write_chrome_trace(path: str, runs: dict[str, list[Piece]]) -> None:
    """A process for each run and a thread for each lane, in the format of chrome://tracing."""
    events = [
        {
            "ph": "X",
            "pid": run,
            "tid": piece.lane,
            "cat": piece.kind,
            "name": piece.name,
            "ts": piece.begin * 1e3,  # microseconds
            "dur": (piece.end - piece.begin) * 1e3,
        }
        for run, pieces in runs.items()
        for piece in pieces
    ]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file, indent=1)
