"""A process that runs one probe: what it told before its end, and how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .finding import one_line

_PROBES = Path(__file__).with_name("probes")
_GRACE = 1.0  # seconds that a process has to say where it hangs
_MOST_READ = 1 << 20  # of what it printed
# Without the present folder among those of modules: what lies there hides what is installed.
_START = (
    "import sys; sys.path[:] = [it for it in sys.path if it]; "
    "sys.path.insert(0, sys.argv.pop(1)); import outback_probe; del sys.path[0]; "
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
    seconds: float = 0.0

    def how_it_ended(self) -> str:
        """For a probe that died: `died of SIGSEGV in import torch_acme, file.py, line 3`."""
        parts = [f"{self.death} in {self.at}" if self.at else self.death, self.where, self.said]
        return one_line(": ".join(part for part in parts if part))


def run(probe: str, *arguments: str, limit: float, environment: Mapping[str, str]) -> Report:
    """Runs probes/<probe>.py, for `limit` seconds at most. Nothing of it is left afterwards."""
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as out:
        with tempfile.TemporaryFile() as err:
            begun = time.monotonic()
            # A file and no pipe: what the process starts cannot hold it open, nor fill it.
            process = subprocess.Popen(
                [
                    *(sys.executable, "-X", "faulthandler", "-c", _START, os.fspath(_PROBES)),
                    *(os.fspath(_PROBES / f"{probe}.py"), str(told.fileno()), str(limit)),
                    *arguments,
                ],
                pass_fds=[told.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            with _ended(process):
                death = _wait(process, limit)
            report = Report(seconds=time.monotonic() - begun)
            _read_told(_text(told), report)
            report.printed = _text(out)
            ended = report.told.pop("end", None) is not None
            if death or not ended or process.returncode:
                report.death = death or _death(process.returncode)
                errors = _text(err)
                report.where, report.said = _where(errors), _last_words(errors)
            return report


class Side:
    """A probe that runs beside this thread; its report is there when `result` returns."""

    def __init__(self, probe: str, *arguments: str, limit: float, environment: Mapping[str, str]):
        self._report: Report | None = None
        self._error: BaseException | None = None

        def work() -> None:
            try:
                self._report = run(probe, *arguments, limit=limit, environment=environment)
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def result(self) -> Report:
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._report is not None
        return self._report


_running: set[int] = set()  # process groups
_lock = threading.Lock()


def end_all() -> None:
    """For whoever is interrupted: the threads that wait for the processes go on then."""
    with _lock:
        groups = list(_running)
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


@contextlib.contextmanager
def _ended(process: subprocess.Popen):
    """With all that it has started."""
    with _lock:
        _running.add(process.pid)
    try:
        yield
    finally:
        # Before it is waited for: its number is its own until then.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with _lock:
            _running.discard(process.pid)


def _wait(process: subprocess.Popen, limit: float) -> str:
    """Leaves the process unreaped. How it had to be ended, or ""."""
    if _is_over(process, limit):
        return ""
    process.send_signal(signal.SIGABRT)  # the fault handler tells where it is
    _is_over(process, _GRACE)
    return f"no end after {limit:g} s"


def _is_over(process: subprocess.Popen, seconds: float) -> bool:
    end, pause = time.monotonic() + seconds, 0.002
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(0.02, pause * 2)
    return True


def _death(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"died of {signal.Signals(-code).name}"
    except ValueError:  # most of the real-time signals have no name
        return f"died of signal {-code}"


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
    return f"{found.group(1)}, line {found.group(2)}" if found else ""


_FAULTHANDLER = re.compile(r"^(\s|<|Fatal Python|Current thread|Thread 0x|Stack \(|Extension mod)")


def _last_words(errors: str) -> str:
    lines = [line for line in errors.splitlines() if line.strip()]
    return next((line.strip() for line in reversed(lines) if not _FAULTHANDLER.match(line)), "")
