"""What a part of the benchmark yields: rows, in sections."""

from __future__ import annotations

import dataclasses
import math

from timing import Measurement


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    against: str  # what the reference is; empty where there is none
    measured: Measurement
    bytes: int | None = None  # moved by an iteration, where that is the point
    limit: float | None = None  # of the ratio

    def too_slow(self) -> bool:
        """Beyond its limit in three quarters of the rounds: more than a busy machine explains."""
        return self.limit is not None and self.measured.ratio_low > self.limit


@dataclasses.dataclass(frozen=True)
class Section:
    title: str
    rows: list[Row]
    summarized: bool = False  # by the geometric mean of its ratios
    mean_limit: float | None = None  # of that mean
    shown: int | None = None  # rows that a table has, the first ones; none: all

    def shown_rows(self) -> list[Row]:
        return self.rows[: self.shown]

    def geometric_mean(self) -> float | None:
        if not self.summarized:
            return None
        return _geometric_mean([row.measured.ratio for row in self.rows])

    def too_slow(self) -> bool:
        """The mean, as a row: of what three quarters of the rounds are beyond."""
        if self.mean_limit is None:
            return False
        return _geometric_mean([row.measured.ratio_low for row in self.rows]) > self.mean_limit


def _geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
