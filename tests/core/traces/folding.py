"""The text of a trace: its events in order, with what repeats written once.

A number of bytes is an allocation; ``-k`` frees the k-th youngest of those that live, so that the
same work reads the same whenever it is done. ``6( ... )`` is done six times. ``-k@n`` in it frees
one that is n places older each time around the outermost repeat: the way back through a model's
layers frees what the way there has left below a growing heap of gradients.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

WIDTH = 100


class Event(NamedTuple):
    number: int  # the first time around
    drift: int = 0

    def __str__(self) -> str:
        return f"{self.number}@{self.drift}" if self.drift else str(self.number)


class Repeat(NamedTuple):
    times: int
    body: tuple[Event | Repeat, ...]

    def __str__(self) -> str:
        return f"{self.times}( {' '.join(map(str, self.body))} )"


def text_of(numbers: Sequence[int]) -> str:
    """Each outermost repeat is a paragraph."""
    parts = _folded(tuple(map(Event, numbers)), outermost=True)
    if list(_unfolded(parts)) != list(numbers):
        raise AssertionError("what was folded does not unfold to the same events")
    paragraphs = [""]
    for part in parts:
        if isinstance(part, Repeat):
            paragraphs += [str(part), ""]
        else:
            paragraphs[-1] += f" {part}"
    wrapped = (textwrap.fill(p.strip(), WIDTH, break_on_hyphens=False) for p in paragraphs if p)
    return "\n".join(wrapped) + "\n"


def _folded(events: tuple[Event, ...], outermost: bool) -> tuple[Event | Repeat, ...]:
    found: list[Event | Repeat] = []
    while events:
        body, times = _most_saving(events, outermost)
        found += [Repeat(times, _folded(body, outermost=False))] if times > 1 else body
        events = events[len(body) * times :]
    return tuple(found)


def _most_saving(events: tuple[Event, ...], drifting: bool) -> tuple[tuple[Event, ...], int]:
    """What to write of the beginning, and how often it is done."""
    body, times, most = events[:1], 1, 1
    for length in range(1, len(events) // 2 + 1):
        for candidate, at_least in _candidates(events, length, drifting):
            turns = _turns(events, candidate, drifting)
            saved = (turns - 1) * length - 2 * sum(event.drift != 0 for event in candidate)
            if turns >= at_least and saved > most:
                body, times, most = candidate, turns, saved
    return body, times


def _candidates(
    events: tuple[Event, ...], length: int, drifting: bool
) -> Iterator[tuple[tuple[Event, ...], int]]:
    """Bodies of that length. Any two frees drift to each other: it takes three to be a repeat."""
    first, second = events[:length], events[length : 2 * length]
    if first == second:
        yield first, 2
    elif drifting and all(map(_may_drift, first, second)):
        numbers = ((a.number, b.number) for a, b in zip(first, second, strict=True))
        yield tuple(Event(a, a - b) for a, b in numbers), 3


def _may_drift(event: Event, later: Event) -> bool:
    return event == later or max(event.number, later.number) < 0


def _turns(events: tuple[Event, ...], body: tuple[Event, ...], drifting: bool) -> int:
    turn = 0
    while True:
        expected = tuple(Event(_number(e, turn)) for e in body) if drifting else body
        if events[turn * len(body) : (turn + 1) * len(body)] != expected:
            return turn
        turn += 1


def _number(event: Event, turn: int) -> int:
    return event.number - event.drift * turn


def _unfolded(parts: Sequence[Event | Repeat], turn: int | None = None) -> Iterator[int]:
    for part in parts:
        if isinstance(part, Repeat):
            for i in range(part.times):
                yield from _unfolded(part.body, i if turn is None else turn)
        else:
            yield _number(part, turn or 0)
