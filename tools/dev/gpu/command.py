"""The parts, in their order: those that are asked for run, whichever of them fail."""

import signal
from contextlib import contextmanager

from .. import console, shell
from ..environment import Environment
from . import device, needs
from .bench import bench
from .building import build_targets, file_of
from .kernel import kernel
from .packed import Pack
from .python import demo, in_place, python
from .results import Results
from .suite import sanitizer, suite
from .work import Request, Work

PARTS = ("build", "suite", "sanitizer", "demo", "in-place", "kernel", "python", "bench")
# For want of a Toolkit these are left out, which is no failure unless they were asked for.
_OF_A_TOOLKIT = ("sanitizer", "kernel")


_RUN = {
    "build": build_targets,
    "suite": suite,
    "sanitizer": sanitizer,
    "demo": demo,
    "in-place": in_place,
    "kernel": kernel,
    "python": python,
    "bench": bench,
}


def run(environment: Environment, request: Request) -> int:
    parts = [part for part in PARTS if request.only is None or part in request.only]
    devices = device.find() if parts != ["build"] else None
    if devices:
        console.title(f"On {devices.description}")
    provisions = needs.provide(environment, parts, Pack())
    if "build" in parts and not provisions.targets:
        raise console.Failure("Nothing that was asked for can be built here.")
    facts = {
        "device": devices.description if devices else "",
        "torch": environment.torch,
        "commit": shell.output(["git", "describe", "--always", "--dirty"]),
    }
    results = Results(request.out, facts)
    work = Work(environment, request, provisions, devices, results)
    with _terminated_as_interrupted():
        for part in parts:
            if why := _why_not(work, part):
                is_failure = request.only is not None or part not in _OF_A_TOOLKIT
                results.not_run(part, why, is_failure=is_failure)
                continue
            work.begin(part)
            results.part(part, lambda part=part: _RUN[part](work))
    return results.finish()


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


def _why_not(work: Work, part: str) -> str:
    """What keeps a part from running, if anything does."""
    if lacking := work.provisions.blocked.get(part):
        return f"for want of {', '.join(lacking)}"
    for target, users in needs.TARGETS.items():
        if part in users and target in work.not_built:
            return f"{target} does not build"
        if part in users and file_of(work.folder, target) is None:
            return f"{target} is not built; --only build,{part} does that first"
    return ""
