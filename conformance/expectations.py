"""A file of what is expected to fail: `suite/name[/dtype[/phase]]: reason`, one a line.

A line stands for the entry that has this id, and for all that begin with it and a slash; `*` and
`?` stand for other text, as in names of files. What follows `#` at the beginning of a line is a
comment.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .catalog import KINDS
from .item import Item
from .request import Request
from .running.refused import Refused
from .verdicts import BAD, EXPECTED, PASS

# A colon in brackets is a name's: `compile/is_compiled[inductor: a module]: reason`.
_PARTS = re.compile(r"(?P<pattern>(?:\[[^]]*\]|.)+?): (?P<reason>.*\S.*)")


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a file."""

    where: str  # file:number
    pattern: str
    reason: str

    def speaks_for(self, id: str) -> bool:
        pattern = self.pattern.replace("[", "[[]")  # a bracket of a name stands for itself
        return fnmatch.fnmatchcase(id, pattern) or fnmatch.fnmatchcase(id, f"{pattern}/*")

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
        return next((line for line in self.lines if line.speaks_for(id)), None)

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
        for line in self.lines:
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
    return Line(where, found["pattern"].strip(), found["reason"].strip())
