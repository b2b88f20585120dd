"""Runs the parts that are asked for, in their order, whichever of them fail."""

import os
import shutil
import signal
from contextlib import contextmanager

from .. import console, shell
from ..environment import Environment
from .parts import PARTS, Part, file_of
from .results import Results
from .work import Request, Work

_INSTEAD = "./dev test runs the same suite on a libcudart in software."


def run(environment: Environment, request: Request) -> int:
    device, memory = ("", None) if request.only == ["build"] else _devices()
    if device:
        console.title(f"On {device}")
    commit = shell.output(["git", "describe", "--always", "--dirty"])
    facts = {"device": device, "torch": environment.torch, "commit": commit}
    results = Results(request.out, facts)
    work = Work(environment, request, device, memory)
    with _terminated_as_interrupted():
        for name, part in PARTS.items():
            if request.only is not None and name not in request.only:
                continue
            if part.program and not shutil.which(part.program):
                missing = f"{part.program} is missing"
                results.not_run(name, missing, is_failure=request.only is not None)
            elif part.built and file_of(work.folder, part.built) is None:
                why = f"{part.built} is not built: --only build,{name}"
                results.not_run(name, why, is_failure=True)
            else:
                work.begin(name)
                results.part(name, lambda name=name, part=part: _timed(name, part, work))
    return results.finish()


def _timed(name: str, part: Part, work: Work) -> str:
    with console.step(name) as step:
        step.note = part.run(work)
    return step.note


def _devices() -> tuple[str, int | None]:
    """Their names and the bytes of the smallest, by NVIDIA's driver or as OUTBACK_CUDART says."""
    if library := os.environ.get("OUTBACK_CUDART"):
        return f"OUTBACK_CUDART={library}", None
    question = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version"]
    answer = shell.output([*question, "--format=csv,noheader,nounits"])
    rows = [row for line in answer.splitlines() if len(row := line.split(", ")) == 3]
    if not rows:
        raise console.Failure(f"nvidia-smi finds no device. {_INSTEAD}")
    names, sizes, drivers = zip(*rows, strict=True)
    return f"{', '.join(names)}; driver {drivers[0]}", min(map(int, sizes)) << 20


@contextmanager
def _terminated_as_interrupted():
    """By SIGTERM as by Ctrl-C: what runs is ended, and its part says so."""

    def interrupt(*_) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
