"""The parts of ./dev gpu, in their order: what each runs, and what it needs for that."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import build, console
from ..paths import ROOT
from . import packing
from .bench import bench
from .work import Done, Work, last

_EXPECTATIONS = ROOT / "tests/runtime/cuda/cuda.expectations"
_SANITIZER = ("--tool", "memcheck", "--error-exitcode", "9", "--report-api-errors", "no")
_KERNEL = ROOT / "examples/cuda_kernel"
_TESTS = "tests/python"
_EACH = 2 << 30  # bytes of a device's memory for each process that tests on it
_FEW = 25  # tests that failed beside others, and run again by themselves

_SUITE = "tests/runtime/cuda/cuda_device_suite"
_MODULE = "python_cuda/torch_acme/_half/*/_C.*"
_BENCH = "bench/bench_cuda"
# What the build leaves, and its target in CMake.
_BUILT = {_SUITE: "cuda_device_suite", _MODULE: "torch_acme_cuda", _BENCH: "bench_cuda"}
# Other backends, which single tests ask for.
_BACKENDS = ("torch_acme_null", "torch_acme_protected")
_BACKENDS += ("outback_probe", "outback_refusing")


@dataclass(frozen=True)
class Part:
    run: Callable[[Work], str]  # returns its outcome in a few words, or raises Failure
    built: str = ""  # the file that it runs, in the build tree
    targets: tuple[str, ...] = ()  # others that it needs
    program: str = ""  # of a CUDA Toolkit: where it is missing, the part is left out


def file_of(folder: Path, pattern: str) -> Path | None:
    return next(folder.glob(pattern), None)


def targets_of(parts: Iterable[str]) -> list[str]:
    """What is built for them; for all, where nothing but the build is asked for."""
    wanted = [part for name, part in PARTS.items() if name in parts and name != "build"]
    wanted = wanted or [part for name, part in PARTS.items() if name != "build"]
    names = (name for part in wanted for name in (_BUILT[part.built], *part.targets))
    return list(dict.fromkeys(names))


def _build(work: Work) -> str:
    targets = targets_of(work.request.only or PARTS)
    for pattern in _BUILT:  # what does not build any more must not be run
        for file in work.folder.glob(pattern):
            file.unlink()
    definitions = packing.definitions()
    if "bench_cuda" not in targets:
        definitions.append("OUTBACK_BUILD_BENCH=OFF")
    with console.step("configure gpu"):
        work.run(*build.configuring(work.environment, "gpu", *definitions))
    with console.step("build gpu") as step:

        def show(line: str) -> None:
            if match := build.PROGRESS.match(line):
                step.progress(match.group(1))

        go_on = ["-k", "0"] if (work.folder / "build.ninja").exists() else ["-k"]
        jobs = ["--parallel", str(work.environment.jobs)]
        command = ["cmake", "--build", work.folder, *jobs, "--target", *targets, "--", *go_on]
        work.run(*command, on_line=show)
    return f"{len(targets)} targets"


def _suite(work: Work) -> str:
    return _run_suite(work, [], "--programs=1000")


def _sanitizer(work: Work) -> str:
    """It slows work down, and holds memory that GrowthTest counts."""
    few = (
        "--programs=20",
        "--time-limit=0",
        "--gtest_filter=-GrowthTest.*:IpcTest.AnotherProcess*",
    )
    return _run_suite(work, ["compute-sanitizer", *_SANITIZER], *few)


def _run_suite(work: Work, under: list[str], *options: str) -> str:
    program = file_of(work.folder, _SUITE)
    done = work.run(*under, program, f"--expectations={_EXPECTATIONS}", *options)
    return last(done, " passed, ")


def _demo(work: Work) -> str:
    done = work.python(ROOT / "examples/train_digits/train.py")
    return " ".join(last(done, "accuracy").replace("│", " ").split())


def _in_place(work: Work) -> str:
    """The device beside torch.cuda, whose kernels it runs: its values, then its speed."""
    tests = _pytest(work, "--cache-clear", "tests/beside")
    measure = [ROOT / "bench/run.py", "--only", "twin", "twin-device"]
    if work.request.save:
        measure += ["--save", work.device.partition(";")[0].replace(" ", "-").lower()]
    work.check(tests, work.python(*measure, check=False))
    return last(tests, " passed")


def _kernel(work: Work) -> str:
    """nvcc compiles examples/cuda_kernel, in a project of its own as a user has one."""
    folder = work.folder / "cuda_kernel"
    definitions = {
        "Outback_ROOT": ROOT,
        "Python_EXECUTABLE": work.environment.python,
        "OUTBACK_CACHE": "OFF",  # all that is compiled of the torch half is what kernels link
        "CMAKE_CUDA_ARCHITECTURES": "native",
    }
    options = [f"-D{name}={value}" for name, value in definitions.items()]
    work.run("cmake", "-S", _KERNEL, "-B", folder, *options)
    jobs = ["--parallel", str(work.environment.jobs)]
    work.run("cmake", "--build", folder, "--target", "swiglu", *jobs)
    for program in (_KERNEL / "show.py", ROOT / "tests/examples/swiglu_program.py"):
        work.python(program, folder / "swiglu.so")
    return "values, derivatives, streams, devices and graphs"


def _python(work: Work) -> str:
    """On all cores; a few tests that fail beside others run once more by themselves, where they
    have all of the device's memory, and more time."""
    chosen = list(work.request.pytest)
    if not any((ROOT / word.partition("::")[0]).exists() for word in chosen):
        chosen.append(_TESTS)
    done = _pytest(work, "--cache-clear", *_processes(work), *chosen)
    note = last(done, " in ").strip("= ")
    failed = work.folder / "pytest/v/cache/lastfailed"
    count = len(json.loads(failed.read_text())) if failed.exists() else 0
    if 0 < count <= _FEW and not work.is_late:
        done = _pytest(work, "--last-failed", *chosen)
        note += f"; once more by themselves: {last(done, ' in ').strip('= ')}"
    work.check(done)
    return note


def _processes(work: Work) -> list[str]:
    """As many as there are cores, and room on the device."""
    count = work.environment.jobs
    if work.memory:
        count = min(count, work.memory // _EACH)
    return ["-n", str(count)] if count > 1 else []


def _pytest(work: Work, *options: str) -> Done:
    """Each test's line is in the log when it ends; one that hangs shows there where it does."""
    command = ["-m", "pytest", "-v", "--tb=short", "-rfEs", "--continue-on-collection-errors"]
    command += ["--color=no", "-o", "faulthandler_timeout=120", "-p", "tools.dev.gpu.failures"]
    command += ["-o", f"cache_dir={work.folder / 'pytest'}", *options]
    return work.python(*command, check=False)


PARTS = {
    "build": Part(_build),
    "suite": Part(_suite, _SUITE),
    "sanitizer": Part(_sanitizer, _SUITE, program="compute-sanitizer"),
    "demo": Part(_demo, _MODULE),
    "in-place": Part(_in_place, _MODULE),
    "kernel": Part(_kernel, _MODULE, program="nvcc"),
    "python": Part(_python, _MODULE, targets=_BACKENDS),
    "bench": Part(bench, _BENCH),
}
