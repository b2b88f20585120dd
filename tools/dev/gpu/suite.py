"""The runtime suite on the devices, plain and once more under compute-sanitizer."""

from pathlib import Path

from .. import console
from ..paths import ROOT
from .building import file_of
from .results import Failed, Outcome
from .work import Work

_EXPECTATIONS = ROOT / "tests/runtime/cuda/cuda.expectations"
_SANITIZER = ("--tool", "memcheck", "--error-exitcode", "9", "--report-api-errors", "no")
# The sanitizer slows work down, and holds memory that GrowthTest counts.
_FEW = (
    *("--programs=20", "--time-limit=0"),
    "--gtest_filter=-GrowthTest.*:IpcTest.AnotherProcess*",
)


def suite(work: Work) -> Outcome:
    return _run(work, "runtime suite", [], "--programs=1000")


def sanitizer(work: Work) -> Outcome:
    return _run(work, "compute-sanitizer", [work.provisions.sanitizer, *_SANITIZER], *_FEW)


def _run(work: Work, name: str, under: list[str | Path], *options: str) -> Outcome:
    program = file_of(work.folder, "cuda_device_suite")
    command = [*under, program, f"--expectations={_EXPECTATIONS}", *options]
    with console.step(name) as step:
        done = work.run(command, env=work.provisions.programs)
        note = done.last(" passed, ")
        if not done.passed:
            raise Failed(note, done.failure())
        step.note = note
    return Outcome(note)
