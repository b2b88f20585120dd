"""A tolerance that somebody has given for some entries of PyTorch's samples."""

from __future__ import annotations

import dataclasses
import math
import re

from .catalog import KINDS
from .patterns import stands_for

_GIVEN = re.compile(r"(?P<operator>[^=/\s]+)=(?P<numbers>\S+)")


class WrongTolerance(ValueError):
    """The text is none; it says what is expected."""


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """For the entries that `pattern` stands for, as in a file of expectations."""

    pattern: str
    atol: float
    rtol: float

    def speaks_for(self, id: str) -> bool:
        return stands_for(self.pattern, id)

    def __str__(self) -> str:
        return f"{self.pattern}={self.atol:g},{self.rtol:g}"


def of_option(text: str) -> Tolerance:
    """`OPERATOR=ATOL,RTOL`. Raises WrongTolerance."""
    found = _GIVEN.fullmatch(text)
    if found is None:
        raise WrongTolerance(
            f"{text!r}: expected OPERATOR=ATOL,RTOL, as in nn.functional.gelu=1e-4,0"
        )
    return of_line(f"operators/{found['operator']}", found["numbers"])


def of_line(pattern: str, numbers: str) -> Tolerance:
    """`numbers` is ATOL,RTOL. Raises WrongTolerance."""
    try:
        atol, rtol = (float(number) for number in numbers.split(","))
    except ValueError:
        atol = rtol = math.nan
    if not (math.isfinite(atol) and math.isfinite(rtol) and atol >= 0 and rtol >= 0):
        raise WrongTolerance(f"{numbers!r}: expected ATOL,RTOL, two numbers that are 0 or more")
    if pattern.partition("/")[0] not in KINDS:
        raise WrongTolerance(f"{pattern}: a tolerance is for {', '.join(KINDS)} only")
    return Tolerance(pattern, atol, rtol)
