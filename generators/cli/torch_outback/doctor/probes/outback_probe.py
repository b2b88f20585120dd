"""What all probes share: telling what they found, line by line, so that a crash loses nothing.

    python -X faulthandler -c ... outback_probe.py FOLDER PROBE DESCRIPTOR SECONDS ARGUMENT...

DESCRIPTOR is a file that the parent reads when the process has ended.
"""

import faulthandler
import json
import os
import runpy
from typing import Any

_descriptor = -1


def tell(name: str, value: Any) -> None:
    # Surrogates, of paths that are no UTF-8, are escaped.
    os.write(_descriptor, json.dumps([name, value]).encode() + b"\n")


def at(what: str) -> None:
    """What comes next, which may crash or hang."""
    tell("at", what)


def described(error: BaseException) -> dict[str, str]:
    """With the first cause, as torch wraps what a backend raises."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    place = ""
    trace = cause.__traceback__
    while trace is not None:
        place = f'"{trace.tb_frame.f_code.co_filename}", line {trace.tb_lineno}'
        trace = trace.tb_next
    return {"kind": type(cause).__name__, "text": str(cause), "where": place}


def run(probe: str, descriptor: int, seconds: float) -> None:
    global _descriptor
    # What a library prints or starts must not reach the parent's file.
    os.set_inheritable(descriptor, False)
    _descriptor = descriptor
    # For the day that nobody is left to end this process.
    faulthandler.dump_traceback_later(seconds + 10, exit=True)
    runpy.run_path(probe, run_name="__main__")
    at("the end of Python")
    tell("end", True)
