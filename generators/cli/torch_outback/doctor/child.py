"""A process that runs one probe: what it told before its end, and how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..conformance.running import interpreter
from ..signals import name_of
from .finding import one_line

_PROBES = Path(__file__).with_name("probes")
AT_THE_END = "the end of Python"  # of a report: all was told before
_GRACE = 1.0  # seconds that a process has to say where it hangs
_MOST_READ = 1 << 20  # of what it printed
_START = (
    "sys.path.insert(0, sys.argv.pop(1)); import first_contact, outback_probe; del sys.path[0]; "
    "outback_probe.run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))"
)


@dataclass
class Report:
    """`told` has what the probe told, by its name; `at`, what it was doing last."""

    told: dict[str, Any] = field(default_factory=dict)
    at: str = ""
    death: str = ""  # "": it came to its end
    where: str = ""  # the Python line at which it died or hung
    said: str = ""  # the last line of its stderr, where it died
    printed: str = ""  # on stdout

    def how_it_ended(self) -> str:
        """For a probe that died: `died of SIGSEGV in import torch_acme, file.py, line 3`."""
        parts = [f"{self.death} in {self.at}" if self.at else self.death, self.where, self.said]
        return one_line(": ".join(part for part in parts if part))


class Probe:
    """A process that runs probes/<name>.py beside this one, for `limit` seconds at most.

    Nothing of it, and of what it has started, is left after `close`.
    """

    def __init__(self, name: str, *arguments: str, limit: float, environment: Mapping[str, str]):
        self._limit = limit
        self._end = time.monotonic() + limit
        with contextlib.ExitStack() as files:
            # Files and no pipes: what the process starts cannot hold them open, nor fill them.
            self._told, self._out, self._err = (
                files.enter_context(tempfile.TemporaryFile()) for _ in range(3)
            )
            told = self._told.fileno()
            self._process = subprocess.Popen(
                interpreter.program(
                    _START,
                    *(os.fspath(_PROBES), os.fspath(_PROBES / f"{name}.py"), str(told), str(limit)),
                    *arguments,
                    options=("-X", "faulthandler"),
                ),
                pass_fds=[told],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._err,
                start_new_session=True,
            )
            self._files = files.pop_all()

    def report(self) -> Report:
        """Waits for its end, or makes it."""
        overdue = ""
        if not self._is_over(self._end):
            overdue = f"no end after {self._limit:g} s"
            self._process.send_signal(signal.SIGABRT)  # the fault handler tells where it is
            self._is_over(time.monotonic() + _GRACE)
        self._end_group()
        report = Report()
        _read_told(_text(self._told), report)
        report.printed = _text(self._out)
        ended = report.told.pop("end", None) is not None
        if overdue or not ended or self._process.returncode:
            report.death = overdue or _death(self._process.returncode)
            errors = _text(self._err)
            report.where, report.said = _where(errors), _last_words(errors)
        return report

    def close(self) -> None:
        self._end_group()
        self._files.close()

    def _end_group(self) -> None:
        if self._process.returncode is not None:
            return
        # Before it is waited for: its number is its own until then.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _is_over(self, end: float) -> bool:
        """Leaves it unreaped."""
        pause, options = 0.002, os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.waitid(os.P_PID, self._process.pid, options) is None:
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(0.02, pause * 2)
        return True


def run(name: str, *arguments: str, limit: float, environment: Mapping[str, str]) -> Report:
    """What one probe tells."""
    with contextlib.closing(Probe(name, *arguments, limit=limit, environment=environment)) as probe:
        return probe.report()


def _death(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    return f"died of {name_of(-code)}"


def _text(file: Any) -> str:
    end = file.seek(0, os.SEEK_END)
    return os.pread(file.fileno(), _MOST_READ, max(0, end - _MOST_READ)).decode(errors="replace")


def _read_told(text: str, report: Report) -> None:
    for line in text.splitlines():
        try:
            name, value = json.loads(line)
        except ValueError:  # cut off, as the process died
            continue
        if name == "at":
            report.at = value
        else:
            report.told[name] = value


def _where(errors: str) -> str:
    """The innermost Python line of the fault handler's first stack."""
    found = re.search(r'most recent call first\):\n\s*File (".*), line (\d+)', errors)
    if found is None or found.group(1).startswith(f'"{_PROBES}'):  # the probe's own says nothing
        return ""
    return f"{found.group(1)}, line {found.group(2)}"


_FAULTHANDLER = re.compile(r"^(\s|<|Fatal Python|Current thread|Thread 0x|Stack \(|Extension mod)")


def _last_words(errors: str) -> str:
    lines = [line for line in errors.splitlines() if line.strip()]
    return next((line.strip() for line in reversed(lines) if not _FAULTHANDLER.match(line)), "")
