"""The one reader of the environment for Python; outback/detail/variables.hpp is that of C++.

A variable that is empty is not set. What cannot be read is Refused, with the variable, its value
and what is expected.
"""

import ctypes
import functools
import os
import pwd
import shlex
from pathlib import Path

from .refused import Refused

_MOST_SHOWN = 400  # of a value, which may be of any length


def refusal(name: str, value: str, why: str) -> Refused:
    """In one line, and in characters that a terminal shows."""
    cut = "..." if len(value) > _MOST_SHOWN else ""
    return Refused(f"{name}={printable(value[:_MOST_SHOWN])}{cut}: {why}")


def printable(text: str) -> str:
    return "".join(it if it.isprintable() else ascii(it)[1:-1] for it in text)


@functools.cache
def has_other_rights() -> bool:
    """Whether this program has other rights than its user: setuid, setgid, capabilities."""
    at_secure = 23  # of the system's auxv.h
    return bool(ctypes.CDLL(None).getauxval(at_secure))


def text(name: str) -> str:
    """As it is; "" where it is not set, as all are for a program with other rights than its user's:
    that one may not choose what it loads.
    """
    return "" if has_other_rights() else os.environ.get(name, "")


def flag(name: str) -> bool:
    """Whether it is 1; not set, it is 0."""
    value = text(name)
    if value not in ("", "0", "1"):
        raise refusal(name, value, "expected 0 or 1")
    return value == "1"


def names() -> list[str]:
    """Of all that are set, whoever reads them; for who tells a user what is."""
    return list(os.environ)


def folder(name: str) -> Path | None:
    """An absolute path: what a relative one means is the working directory's choice."""
    value = text(name)
    if value and not os.path.isabs(value):
        raise refusal(name, value, "expected the absolute path of a folder")
    return Path(value) if value else None


def xdg_folder(name: str) -> Path | None:
    """As the XDG Base Directory Specification has it: a relative path is ignored."""
    value = text(name)
    return Path(value) if os.path.isabs(value) else None


def home() -> Path | None:
    """HOME where it is an absolute path, else the user's of the password database."""
    value = text("HOME")
    if not os.path.isabs(value):
        try:
            value = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:  # as in a container that runs as a number
            return None
    return Path(value) if os.path.isabs(value) else None


def command(name: str) -> list[str]:
    """A program and its first arguments; [] where it is not set."""
    value = text(name)
    try:
        return shlex.split(value)
    except ValueError as error:
        raise refusal(name, value, f"expected a command as a shell has it: {error}") from None
