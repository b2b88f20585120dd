"""The Python tests as ./dev test runs them: a folder of tests on a backend of the build tree."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import build, console
from ..python_runs import PORTABLE_RUN, RUNS, TESTS, Run
from ..stand_ins import STAND_INS
from .limits import WORKERS

Variables = Callable[[Path], Mapping[str, str]]


@dataclass(frozen=True)
class Suite:
    name: str  # the part of ./dev test that runs it
    title: str
    tests: str  # the folder
    variables: Variables  # for a build tree
    targets: tuple[str, ...]  # of the build: what its tests use
    marks: str = ""  # pytest's -m in a short run
    few: bool = False  # there: the imports of a second worker take longer than half of the tests
    require: Callable[[Path], None] = (
        lambda folder: None
    )  # raises NotRun on a build tree without it

    @property
    def workers(self) -> int:
        """In a short run."""
        return 1 if self.few else WORKERS

    @property
    def options(self) -> tuple[str, ...]:
        return ("-m", self.marks) if self.marks else ()


_DRIVERS = ("driver_backends", "tests/fakes/all")
_TARGETS = {
    "python": ("scaffold", "torch_acme_made_up"),
    "python_protected": ("torch_acme_protected",),
    "python_null": ("torch_acme_null",),
    "python_cuda": _DRIVERS,
    "python_level_zero": _DRIVERS,
    "python_opencl": ("driver_backends",),
}


def _of(run: Run) -> Suite:
    return Suite(
        name=f"python-{run.short_name}",
        title=f"the Python tests that ask something of it: {run.name}",
        tests=TESTS,
        variables=run.variables,
        targets=(
            *_TARGETS[run.package],
            *("outback_probe", "outback_refusing", "declining_kernels"),
        ),
        marks=run.marks,
        few=run.few,
        require=run.require,
    )


def _later(folder: Path) -> dict[str, str]:
    return {
        **build.python_path(folder, "python_protected"),
        "OUTBACK_LATER_KERNELS": os.fspath(folder / "later_kernels/later_kernels.so"),
        "TORCH_CPP_LOG_LEVEL": "ERROR",  # PyTorch warns of each kernel that takes another's place
    }


def _named(folder: Path) -> dict[str, str]:
    return {**build.python_path(folder), "OUTBACK_BUILD_DIR": os.fspath(folder)}


def _on_memory_apart(package: str) -> Variables:
    return lambda folder: {**build.python_path(folder, package), "OUTBACK_HOST_PROTECTED": "1"}


PYTHON_SUITES = tuple(_of(run) for run in RUNS)

PORTABLE = Suite(
    name="portable",
    title="portable kernels, on the host with memory apart",
    tests=f"{TESTS}/portable",
    variables=_on_memory_apart("python_protected"),
    targets=("torch_acme_protected",),
    marks="turns_on_kernels and not slow",
)
COMPILED = Suite(
    name="compiled",
    title="torch.compile by kernels in the dialect, on the host with memory apart",
    tests=f"{TESTS}/compiled",
    variables=_on_memory_apart("python_protected"),
    targets=("torch_acme_protected", "torch_acme_made_up"),
    marks="not slow",
)
PORTABLE_AS_FIBERS = Suite(
    name="portable-fibers",
    title="portable kernels whose items are fibers, which find barriers that are missing",
    tests=f"{TESTS}/portable",
    variables=_on_memory_apart("python_fibers"),
    targets=("torch_acme_fibers",),
    marks="turns_on_kernels and not slow",
)
# Each kernel is compiled by the driver first, so only what uses many of them at once.
_OPENCL = next(driver for driver in STAND_INS if driver.name == "OpenCL")
PORTABLE_ON_OPENCL = Suite(
    name="portable-opencl",
    title="training steps by portable kernels, on OpenCL",
    tests=f"{TESTS}/portable/test_training.py",
    variables=_OPENCL.variables,
    targets=("driver_backends",),
    few=True,
    require=_OPENCL.require,
)

OTHER_SUITES = (
    Suite(
        name="kernels",
        title="native kernels, in a backend",
        tests="tests/kernels",
        variables=lambda folder: build.python_path(folder, "python_kernels"),
        targets=("torch_acme_custom_op",),
        few=True,
    ),
    Suite(
        name="kernels-later",
        title="native kernels that are loaded after a backend",
        tests="tests/kernels",
        variables=_later,
        targets=("torch_acme_protected", "later_kernels"),
        few=True,
    ),
    Suite(
        name="conformance",
        title="`outback conformance`",
        tests="tests/conformance",
        variables=_named,
        targets=("scaffold",),
        marks="not slow",
    ),
    Suite(
        name="examples",
        title="the examples print what their READMEs show",
        tests="tests/examples",
        variables=_named,
        targets=("all",),
        marks="not slow",
    ),
    Suite(
        name="package",
        title="wheels, `outback new`, consumers, ./dev itself",
        tests="tests/package",
        variables=_named,
        targets=("scaffold", "test_backends"),
        marks="not slow",
    ),
    PORTABLE,
    COMPILED,
    PORTABLE_ON_OPENCL,
)

# What takes more than a short run has: each has a part of its own.
ON_CUDA = Suite(
    name="cuda-in-place",
    title="torch's CUDA build without a GPU, on NVIDIA's libraries in software",
    tests="tests/cuda_in_place",
    variables=lambda folder: {"OUTBACK_BUILD_DIR": os.fspath(folder)},
    targets=("scaffold", *_DRIVERS),
)
BESIDE = Suite(
    name="beside",
    title="what ./dev gpu compares with torch.cuda, with the CPU instead",
    tests="tests/beside",
    variables=build.python_path,
    targets=("scaffold",),
)

# Each in place and apart, and by a driver; in an environment of their own.
LIBRARIES = tuple(
    Suite(
        name=f"libraries, {run.name}",
        title=run.name,
        tests="tests/libraries",
        variables=run.variables,
        targets=_TARGETS[run.package],
        require=run.require,
    )
    for run in (
        RUNS[0],
        PORTABLE_RUN,
        Run("OpenCL", _OPENCL.package, "", {"POCL_DEVICES": "pthread pthread"}, driver=_OPENCL),
    )
)

# These two first, since their tests are where `tests/python` is too.
_WITHIN = (PORTABLE, COMPILED)
_FURTHER = tuple(suite for suite in OTHER_SUITES if suite not in _WITHIN)
SUITES = (*_WITHIN, *PYTHON_SUITES, *_FURTHER, ON_CUDA, BESIDE)


def on(run: str) -> Suite:
    """The Python tests on the run of that short name."""
    for suite in PYTHON_SUITES:
        if suite.name == f"python-{run}":
            return suite
    names = [suite.name.removeprefix("python-") for suite in PYTHON_SUITES]
    raise console.WrongUsage(f"There is no run {run}: {', '.join(names)}.")


def of(test: str) -> list[Suite]:
    """The suites that run the test or folder of that path; the first is where to try it."""
    return [suite for suite in SUITES if f"{test}/".startswith(f"{suite.tests}/")]
