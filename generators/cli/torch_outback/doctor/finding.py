"""What the doctor says about one thing."""

from __future__ import annotations

import re
from dataclasses import dataclass

OK = "ok"
NOTE = "note"  # worth knowing: it stops nothing by itself
PROBLEM = "problem"

_MOST = 600  # characters of what somebody else's program said


@dataclass(frozen=True)
class Finding:
    """`command` is a line for a shell, and `advice` the same in words, or what no command does."""

    section: str
    name: str
    found: str
    status: str = OK
    advice: str = ""
    command: str = ""


def one_line(text: str) -> str:
    """What a program said, for a terminal and for a document: no controls, and not too much."""
    line = " ".join(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text).split())
    line = "".join(it if it.isprintable() else ascii(it)[1:-1] for it in line)
    return line if len(line) <= _MOST else f"{line[: _MOST - 3]}..."


def size(count: int) -> str:
    """For people: 1.5 GiB."""
    amount, units = float(count), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{amount:.0f} bytes" if units[0] == "bytes" else f"{amount:.1f} {units[0]}"
