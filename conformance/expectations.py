"""A file of what is expected to fail: `suite/name[/dtype[/phase]]: reason`, one a line.

A line stands for the entry that has this id, and for all that begin with it and a slash; `*` and
`?` stand for other text, as in names of files. What follows `#` at the beginning of a line is a
comment.

`operators/name[/dtype[/phase]]: tolerance=ATOL,RTOL reason` expects no failure, but loosens how the
values of those samples are compared.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .catalog import KINDS
from .item import Item
from .patterns import stands_for
from .request import Request
from .running.refused import Refused
from .tolerance import Tolerance, WrongTolerance, of_line
from .verdicts import BAD, EXPECTED, PASS

# A colon in brackets is a name's: `compile/is_compiled[inductor: a module]: reason`.
_PARTS = re.compile(r"(?P<pattern>(?:\[[^]]*\]|.)+?): (?P<reason>.*\S.*)")
_MEANS_TOLERANCE = re.compile(r"tolerance\s*[=:]", re.IGNORECASE)
_LOOSENS = re.compile(r"tolerance=(?P<numbers>\S+)\s+(?P<reason>.*\S.*)")


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a file."""

    where: str  # file:number
    pattern: str
    reason: str
    tolerance: Tolerance | None = None  # of a line that loosens, and expects no failure

    def speaks_for(self, id: str) -> bool:
        return stands_for(self.pattern, id)

    @property
    def exact(self) -> bool:
        return not any(sign in self.pattern for sign in "*?")


@dataclasses.dataclass(frozen=True)
class Expectations:
    """What is expected to fail, and why."""

    lines: tuple[Line, ...] = ()

    @classmethod
    def load(cls, path: Path) -> Expectations:
        """Raises Refused or OSError."""
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise Refused(f"{path}: is no text in UTF-8: {error}") from None
        lines = (line.strip() for line in text.splitlines())
        return cls(
            tuple(
                _line(f"{path}:{number}", line)
                for number, line in enumerate(lines, 1)
                if line and not line.startswith("#")
            )
        )

    def of(self, id: str) -> Line | None:
        return next((line for line in self._of_failures if line.speaks_for(id)), None)

    @property
    def tolerances(self) -> tuple[Tolerance, ...]:
        return tuple(line.tolerance for line in self.lines if line.tolerance is not None)

    @property
    def _of_failures(self) -> Iterator[Line]:
        return (line for line in self.lines if line.tolerance is None)

    def applied(self, entries: Iterable[dict]) -> list[dict]:
        """The entries, with what is expected among them."""
        return [self._applied(entry) for entry in entries]

    def _applied(self, entry: dict) -> dict:
        line = self.of(entry["id"]) if entry["verdict"] in BAD else None
        if line is None:
            return entry
        return entry | {"verdict": EXPECTED, "found": entry["verdict"], "reason": line.reason}

    def outlived(self, entries: list[dict]) -> Iterator[str]:
        """What to say of lines whose entries pass."""
        for line in self._of_failures:
            verdicts = [entry["verdict"] for entry in entries if line.speaks_for(entry["id"])]
            if PASS in verdicts and EXPECTED not in verdicts:
                yield f"{line.where}: {line.pattern} passes: remove the line"

    def idle(self, items: list[Item], request: Request) -> Iterator[str]:
        """What to say of lines that stand for nothing of a whole run."""
        for line in self.lines:
            if _is_about(line, request) and not any(line.speaks_for(item.id) for item in items):
                yield f"{line.where}: {line.pattern} is no entry"


def _is_about(line: Line, request: Request) -> bool:
    """Whether a run at that level has the dtypes of a line that names one."""
    suite, _, dtype, *_ = (*line.pattern.split("/"), "", "")
    return suite not in KINDS or dtype in ("", "*", *request.samples.dtypes)


def _line(where: str, line: str) -> Line:
    found = _PARTS.fullmatch(line)
    if found is None:
        raise Refused(f"{where}: a line is `suite/name[/dtype[/phase]]: reason`, and has a reason")
    pattern, reason = found["pattern"].strip(), found["reason"].strip()
    if _MEANS_TOLERANCE.match(reason) is None:
        return Line(where, pattern, reason)
    loosens = _LOOSENS.fullmatch(reason)
    if loosens is None:
        raise Refused(f"{where}: a tolerance is `tolerance=ATOL,RTOL reason`, and has a reason")
    try:
        return Line(where, pattern, loosens["reason"], of_line(pattern, loosens["numbers"]))
    except WrongTolerance as error:
        raise Refused(f"{where}: {error}") from None
