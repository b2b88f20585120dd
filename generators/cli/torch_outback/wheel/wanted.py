"""Which halves are asked for: releases of torch, each for releases of Python."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .. import toolkit, variables
from ..conformance.running import interpreter
from ..refused import Refused
from .layout import numbers


@dataclass(frozen=True)
class Half:
    torch: str  # "2.13"
    python: str  # "3.11"

    @property
    def folder(self) -> str:
        """Of its work: a name that no other half has."""
        return f"torch-{self.torch}-python-{self.python}"

    def __str__(self) -> str:
        return f"torch {self.torch}, Python {self.python}"


def torches(given: str) -> list[str]:
    """Of the option --torch; "": all that are supported, which have one major number."""
    if not given:
        major, oldest = numbers(toolkit.OLDEST_TORCH)
        newest = numbers(toolkit.NEWEST_TORCH)[1]
        return [f"{major}.{minor}" for minor in range(oldest, newest + 1)]
    found = _releases("--torch", given)
    for release in found:
        if not toolkit.supports(release):
            raise Refused(
                f"--torch {release}: no backend can be built against it, expected releases from "
                f"{toolkit.OLDEST_TORCH} to {toolkit.NEWEST_TORCH}"
            )
    return found


def pythons(given: str) -> dict[str, Path]:
    """The interpreters by the releases in the option --python; "": this one."""
    own = own_python()
    found = _releases("--python", given or own)
    return {
        release: interpreter.path() if release == own else _installed(release) for release in found
    }


def own_python() -> str:
    """The release of the one that runs this: "3.11"."""
    return "{}.{}".format(*sys.version_info[:2])


def _installed(release: str) -> Path:
    if numbers(release) < (3, 10):
        raise Refused(f"--python {release}: expected Python 3.10 or newer, which Outback needs")
    there = shutil.which(f"python{release}")
    if there is None:
        raise Refused(f"--python {release}: there is no python{release} on the PATH: install it")
    if why := _failure(there):  # of pyenv's, which stand for releases that are not chosen too
        raise Refused(f"--python {release}: {there} does not run: {why}")
    return Path(there)


def _failure(python: str) -> str:
    """The first line of why it does not run; "" where it does."""
    try:
        done = subprocess.run([python, "-I", "-c", ""], capture_output=True, errors="replace")
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines() or [f"it ends with {done.returncode}"]
    return variables.printable(lines[0])


def _releases(option: str, given: str) -> list[str]:
    """The oldest first, each once."""
    found = {text.strip() for text in given.split(",")}
    for text in found:
        if re.fullmatch(r"[1-9][0-9]{0,3}\.(0|[1-9][0-9]{0,3})", text) is None:
            raise Refused(
                f"{option} {variables.printable(given)}: expected minor releases with commas "
                f"between them, as 2.13,2.15, and not {variables.printable(text)!r}"
            )
    return sorted(found, key=numbers)
