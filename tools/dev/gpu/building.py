"""The part that builds what the others run; a program that does not compile stops no other."""

from pathlib import Path

from .. import build, console
from .programs import Finished
from .results import Failed, Outcome
from .work import Work

_FILES = {
    "cuda_device_suite": "tests/runtime/cuda/cuda_device_suite",
    "torch_acme_cuda": "python_cuda/torch_acme/_C.*",
    "bench_cuda": "bench/bench_cuda",
}


def file_of(folder: Path, target: str) -> Path | None:
    """What an earlier build left of it."""
    return next(folder.glob(_FILES[target]), None)


def build_targets(work: Work) -> Outcome:
    found = work.provisions
    work.not_built.update(found.targets)
    with console.step("configure gpu"):
        # What is missing has been named: CMake is not to look for it on the network.
        offline = "FETCHCONTENT_FULLY_DISCONNECTED=ON"
        definitions = [*found.definitions, offline]
        work.run(build.configuring(work.environment, "gpu", *definitions)).check()
    with console.step("build gpu") as step:
        ninja = (work.folder / "build.ninja").exists()
        go_on = ["-k", "0"] if ninja else ["-k"]
        done = _build(work, step, *found.targets, "--", *go_on)
        if done.passed:
            work.not_built.clear()
            return Outcome(f"{len(found.targets)} targets", {"targets": found.targets})
    if done.limit is not None:
        raise Failed("not done in time", done.failure())
    texts = []
    for target in found.targets:  # which of them it was
        with console.step(f"build {target}") as step:
            done = _build(work, step, target)
            if done.passed:
                work.not_built.discard(target)
                continue
        texts.append(done.failure())
    note = f"not built: {', '.join(sorted(work.not_built))}"
    raise Failed(note, "\n\n".join(texts))


def _build(work: Work, step: console.Step, *targets: str) -> Finished:
    def show(line: str) -> None:
        if match := build.PROGRESS.match(line):
            step.progress(match.group(1))

    jobs = ["--parallel", str(work.environment.jobs)]
    command = ["cmake", "--build", work.folder, *jobs, "--target", *targets]
    return work.run(command, on_line=show)
