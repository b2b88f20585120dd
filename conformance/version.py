"""Which Outback this is."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path


def version() -> str:
    """Of the installed distribution, or of the source tree."""
    lists = Path(__file__).resolve().parents[1] / "CMakeLists.txt"
    if not lists.exists():
        return importlib.metadata.version("torch-outback")
    text = lists.read_text(encoding="utf-8")
    return re.findall(r"project\(Outback VERSION ([0-9.]+)", text)[0]
