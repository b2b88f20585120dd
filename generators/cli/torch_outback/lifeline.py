"""Runs a command for as long as the process lives that asked for it.

    python -I -S lifeline.py DESCRIPTOR COMMAND...

DESCRIPTOR is one end of a pipe whose other end the parent has. When the parent is gone, however it
ended, or lets go, all that the command has started is killed, and this process ends. They are a
session of their own. Ninja gives each compiler a process group, so that a signal for ours would
miss them.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path


def _others() -> list[int]:
    """The processes of this session that run."""
    session, found = os.getsid(0), []
    for entry in os.listdir("/proc"):
        # It may have ended meanwhile. What is in brackets is a name, which may be anything.
        with contextlib.suppress(OSError, ValueError):
            text = Path("/proc", str(int(entry)), "stat").read_text(errors="replace")
            state, _, _, its_session = text[text.rindex(")") + 1 :].split()[:4]
            if int(its_session) == session and state not in "ZX" and int(entry) != os.getpid():
                found.append(int(entry))
    return found


def _watch(descriptor: int) -> None:
    os.read(descriptor, 1)  # nothing is ever written
    _gone.set()
    while others := _others():  # again, for what those started meanwhile
        for process in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    os._exit(1)


_gone = threading.Event()
os.setsid()  # nobody else is in it; where that fails, nothing is run, and nothing killed
_watcher = threading.Thread(target=_watch, args=(int(sys.argv[1]),), daemon=True)
_watcher.start()
code = subprocess.call(sys.argv[2:])
if _gone.is_set():  # the command is among those that are killed; the rest is, before this ends
    _watcher.join()
sys.exit(code if code >= 0 else 128 - code)
