"""Times a statement on a device against one on the CPU so that a busy machine spoils neither.

The two take turns in many short rounds. What slows the machine down for a while slows down both
halves of a round, or spoils that round alone: the result is the median of the rounds' ratios. Where
that is not sure yet, as on a machine that changes its speed from round to round, there are more.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

# Of one half of a round: far less than the time for which a scheduler takes a core away, so that
# most rounds see nothing of it.
ROUND_SECONDS = 0.0002
MIN_ROUNDS, MAX_ROUNDS = 9, 2001
# Of a ratio: half of the interval that has its median with 95 %; and how many times the seconds
# that were asked for a measurement may take until it is that sure.
SURE, PATIENCE = 0.01, 6

_TEMPLATE = """
def timed(iterations, timer, settle, {names}):
    start = timer()
    for _ in iterations:
        {statement}
    settle()
    return timer() - start
"""


@dataclasses.dataclass(frozen=True)
class Code:
    """A statement over some values; `settle` waits, once a round, for work it only enqueued."""

    statement: str
    values: dict[str, Any]
    settle: Callable[[], object] = lambda: None

    def compiled(self) -> Callable[[int], float]:
        """A function of a number of iterations that returns seconds. Values are local variables."""
        names = ", ".join(f"{name}={name}" for name in self.values)
        namespace = dict(self.values)
        exec(_TEMPLATE.format(names=names, statement=self.statement), namespace)
        timed = namespace["timed"]
        return lambda count: timed(itertools.repeat(None, count), time.perf_counter, self.settle)


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Nanoseconds an iteration, and the ratio of the two with its quartiles."""

    ns: float
    reference_ns: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    rounds: int


class Timed(Protocol):
    """What is measured: Code, or what another process runs."""

    def compiled(self) -> Callable[[int], float]:
        """A function of a number of iterations that returns seconds."""


def set_min_rounds(count: int) -> None:
    """Of every measurement of this process from now on."""
    global MIN_ROUNDS
    MIN_ROUNDS = count


def paired(subject: Timed, reference: Timed, seconds: float) -> Measurement:
    """Measures both in turns, A B, B A, A B, ...: for about `seconds`, and on until it is sure."""
    sides = [_Side(subject), _Side(reference)]
    rounds = _rounds(seconds, sum(side.round_seconds for side in sides))
    ratios: list[float] = []
    with _no_collections():
        for _ in range(PATIENCE):
            for turn in range(rounds):
                for side in sides if turn % 2 == 0 else reversed(sides):
                    side.measure()
            ratios = [a / b for a, b in zip(sides[0].times, sides[1].times, strict=True)]
            if _doubt(ratios) <= SURE:
                break
    low, middle, high = statistics.quantiles(ratios, n=4)
    return Measurement(sides[0].ns, sides[1].ns, middle, low, high, len(ratios))


def alone(subject: Code, seconds: float) -> Measurement:
    """Measures what has no counterpart on the CPU."""
    side = _Side(subject)
    rounds = _rounds(seconds, side.round_seconds)
    with _no_collections():
        for _ in range(rounds):
            side.measure()
    return Measurement(side.ns, None, None, None, None, rounds)


class _Side:
    """One of the two: how often to run in a round, and the seconds an iteration took in each."""

    def __init__(self, code: Timed):
        self._run = code.compiled()
        self._count = 1
        self._run(1)  # first uses allocate, resolve, and touch pages
        while (took := self._run(self._count)) < ROUND_SECONDS:
            self._count = max(self._count + 1, int(self._count * min(10, ROUND_SECONDS / took)))
        self.round_seconds = took
        self.times: list[float] = []

    def measure(self) -> None:
        self.times.append(self._run(self._count) / self._count)

    @property
    def ns(self) -> float:
        return statistics.median(self.times) * 1e9


def _doubt(values: Sequence[float]) -> float:
    """Half of the interval that has the median of what they are drawn from with 95 %: by the ranks
    of a binomial distribution."""
    ordered, middle = sorted(values), (len(values) - 1) / 2
    reach = 0.98 * math.sqrt(len(values))
    low, high = max(0, math.floor(middle - reach)), min(len(values) - 1, math.ceil(middle + reach))
    return (ordered[high] - ordered[low]) / 2


def _rounds(seconds: float, round_seconds: float) -> int:
    return max(MIN_ROUNDS, min(MAX_ROUNDS, int(seconds / round_seconds)))


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
