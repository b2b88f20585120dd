"""The test of a half: an import and ten operators, by the Python and the torch that it is for."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from .. import variables
from ..refused import Refused
from . import archive, layout
from .archive import Wheel
from .environment import Environment

PROGRAM = Path(__file__).with_name("ten_operators.py")
_SECONDS = 600


def half(wheel: Wheel, torch: str, environment: Environment, name: str) -> str:
    """What was tested, for a sentence. Raises Refused where it fails.

    The package is unpacked and not installed, so that the environment may be the user's own.
    """
    package = layout.package(wheel.files)
    with tempfile.TemporaryDirectory() as folder:
        there, result = Path(folder, "site"), Path(folder, "result.json")
        archive.unpack(wheel, there)
        words = [os.fspath(PROGRAM), os.fspath(there), package, torch, os.fspath(result)]
        command = [os.fspath(environment.python), "-I", *words]
        # Not by itself: another backend of the environment would be loaded first.
        given = {**environment.variables(), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=given,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise Refused(f"{name} fails its test: no answer after {_SECONDS} seconds") from None
        said = result.read_text(encoding="utf-8") if result.exists() else ""
    if done.returncode or not said:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        why = lines[-1] if lines else f"it ended with {done.returncode}"
        raise Refused(f"{name} fails its test: {why}")
    found = json.loads(said)
    if found["wrong"]:
        raise Refused(
            f"{name} fails its test: on {found['device']} these operators do not compute what the "
            f"CPU does: {', '.join(found['wrong'])}"
        )
    if not found["devices"]:
        return f"it imports; no {found['device']} device is here to compute on"
    said = f"it imports, and computes {len(found['right'])} operators as the CPU does"
    for operator, why in found["missing"].items():
        said += f"; not {operator}: {variables.printable(why.partition(chr(10))[0])}"
    return said
