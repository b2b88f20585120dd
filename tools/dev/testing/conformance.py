"""`outback conformance` on acme: nothing fails, and no more is unsupported than is declared."""

import os
from pathlib import Path

from .. import console, shell
from ..environment import Environment
from ..paths import LOG, ROOT
from ..python_runs import Run

_CLI = ROOT / "generators/cli"
_DECLARED = ROOT / "tests/conformance/declared.py"  # its lines are beside it, in declared/
_SAID_ALL = (0, 1)  # of the command: it made a report, in which everything passed or not


def report(on: Run, level: str) -> Path:
    """Where a run leaves what it found, as `outback conformance --json` writes it."""
    return LOG / f"conformance-{level}-{on.short_name}.json"


def run(environment: Environment, on: Run, level: str, expectations: Path | None = None) -> str:
    """At `level` on the backend of that run; the page and the report stay in build/log."""
    folder = environment.build / "dev"
    on.require(folder)
    made = report(on, level)
    name = made.stem
    made.unlink(missing_ok=True)
    variables = dict(on.variables(folder))
    variables["PYTHONPATH"] = os.pathsep.join([variables["PYTHONPATH"], os.fspath(_CLI)])
    command = [environment.python, "-m", "torch_outback", "conformance", "--device", "acme"]
    command += ["--import", "torch_acme", "--level", level]
    command += ["--json", made, "--html", made.with_suffix(".html")]
    if expectations:
        command += ["--expectations", expectations]
    with console.step(f"conformance, {level}, {on.name}") as step:
        done = shell.run(name, command, env=variables, check=False)
        if done.returncode not in _SAID_ALL:
            raise shell.failure(name, done)
        judge = [environment.python, _DECLARED, on.short_name, made]
        step.note = shell.run(f"{name}-declared", judge).stdout.strip()
    return step.note
