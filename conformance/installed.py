"""What this needs besides torch, which the wheel brings only where it is asked for."""

from __future__ import annotations

import importlib.util
import sys

from .running.refused import Refused

_WANTED = ("rich", "numpy", "expecttest")  # the extra `conformance`


def check() -> None:
    """Raises Refused."""
    if importlib.util.find_spec("torch") is None:
        raise Refused(f"{sys.executable} has no torch, on which this runs")
    if missing := [name for name in _WANTED if importlib.util.find_spec(name) is None]:
        raise Refused(f"pip install 'torch-outback[conformance]' for {', '.join(missing)}")
