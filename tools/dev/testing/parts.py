"""The parts of ./dev test: a name, what it does, and how it is run."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .. import (
    build,
    console,
    contract_page,
    documentation,
    fuzz,
    lint,
    runtime_table,
    shell,
    stubs,
    suites_page,
    valgrind,
)
from ..architecture import page as architecture_page
from ..environment import (
    DEFAULT_TORCH,
    Environment,
    provide_cuda,
    provide_intel_opencl,
    provide_libraries,
)
from ..paths import ROOT
from ..python_runs import PORTABLE_RUN, RUNS, Run
from ..stand_ins import STAND_INS, StandIn
from . import conformance, ctest, samples, sanitizers
from .limits import WORKERS
from .pytest_run import run_pytest
from .suites import (
    BESIDE,
    COMPILED,
    LIBRARIES,
    ON_CUDA,
    OTHER_SUITES,
    PORTABLE,
    PORTABLE_AS_FIBERS,
    PYTHON_SUITES,
    Suite,
)

SHORT, LONG = "short", "long"  # ./dev test, and ./dev test --all
_MUTANTS = ROOT / "tests/mutants/run.py"
_NEWEST_TORCH = "2.15.0"
_DIALECT = "tests/python/dialect/test_library.py"
_CLANG_TARGETS = (
    *("outback_layers", "outback_runtime_host"),
    *("table_of_test", "table_slots_test", "table_check_test"),
)


@dataclass(frozen=True)
class Work:
    """What a part works with."""

    environment: Environment
    folder: Path  # the build tree dev
    libraries: tuple[str, ...] = ()  # of other versions: "accelerate==1.16.0"


@dataclass(frozen=True)
class Part:
    name: str
    title: str
    run: Callable[[Work], str]  # returns its outcome in a few words, or raises Failure or NotRun
    runs: frozenset[str] = frozenset({SHORT, LONG})
    on_dev: bool = True  # it needs the build tree dev
    one_core: bool = False  # it keeps no more busy: two such parts run at a time


def _long(name: str, title: str, run: Callable[[Work], str], on_dev: bool = True) -> Part:
    return Part(name, title, run, frozenset({LONG}), on_dev)


def _on(suite: Suite, name: str, *options: str, workers: int = WORKERS) -> Callable[[Work], str]:
    def run(work: Work) -> str:
        suite.require(work.folder)
        variables = suite.variables(work.folder)
        return run_pytest(work.environment, name, suite.tests, variables, *options, workers=workers)

    return run


def _short_python(suite: Suite) -> Part:
    name = suite.name.replace("-", ", ", 1)
    run = _on(suite, name, *suite.options, workers=suite.workers)
    return Part(suite.name, suite.title, run, frozenset({SHORT}), one_core=suite.few)


def _whole_python(suite: Suite) -> Part:
    on = suite.name.removeprefix("python-")
    return _long(f"whole-{on}", f"all Python tests, on {on}", _on(suite, f"whole, {on}"))


def _suite(suite: Suite) -> Part:
    run = _on(suite, suite.name, *suite.options, workers=suite.workers)
    return Part(suite.name, suite.title, run, one_core=suite.few)


def _slow(suite: Suite) -> Part:
    """What its part of the short run leaves out."""
    run = _on(suite, f"{suite.name}, slow", "-m", "slow")
    return _long(f"{suite.name}-slow", f"{suite.title}: what takes minutes", run)


def _samples(way: str) -> Part:
    def run(work: Work) -> str:
        variables = {**build.python_path(work.folder), **samples.WAYS[way]}
        return samples.run(work.environment, way, variables, way)

    return _long(f"samples-{way}", f"PyTorch's samples on the host runtime, by {way}", run)


def _samples_on(driver: StandIn) -> Part:
    """At the level of the host runtime with memory apart."""

    def run(work: Work) -> str:
        driver.require(work.folder)
        variables = driver.variables(work.folder)
        return samples.run(work.environment, "fallback", variables, driver.name)

    name = f"samples-{driver.name.lower().replace(' ', '-')}"
    return _long(name, f"PyTorch's samples on {driver.name}", run)


def _conformance_quick(on: Run) -> Part:
    return Part(
        "conformance-quick" if on is RUNS[0] else f"conformance-quick-{on.short_name}",
        f"`outback conformance` at quick on acme: {on.name}",
        lambda it: conformance.run(it.environment, on, "quick"),
    )


def _conformance(on: Run, expectations: Path | None = None) -> Part:
    return _long(
        f"conformance-{on.short_name}",
        f"`outback conformance` at standard on acme: {on.name}",
        lambda it: conformance.run(it.environment, on, "standard", expectations),
    )


def _on_cuda(suite: Suite) -> Part:
    """With the Python that OUTBACK_CUDA_PYTHON names, or one that is made for it."""

    def run(work: Work) -> str:
        STAND_INS[0].require(work.folder)
        named = os.environ.get("OUTBACK_CUDA_PYTHON")
        python = named or provide_cuda(work.environment.torch.partition("+")[0])
        variables = {**suite.variables(work.folder), "OUTBACK_CUDA_PYTHON": os.fspath(python)}
        return run_pytest(work.environment, suite.name, suite.tests, variables)

    return _long(suite.name, suite.title, run)


def _level_zero_executed(work: Work) -> str:
    """The suite in every configuration, and the kernels in the dialect; otherwise the software
    driver does not run the SPIR-V."""
    STAND_INS[1].require(work.folder)
    options = {"OUTBACK_ZE_EXECUTE": "opencl", **provide_intel_opencl()}
    suite = ctest.run(
        work.folder,
        "Level Zero, executed",
        *("-R", r"^ze_[a-z_]*suite\.summary$|^fake_ze_kernels_test\."),
        options=options,
    )
    if not shutil.which("clang-22"):
        return f"{suite}; not the kernels in the dialect: clang-22 is missing (Debian's package)"
    variables = {**STAND_INS[1].variables(work.folder), **options}
    kernels = run_pytest(work.environment, "dialect, Level Zero", _DIALECT, variables, workers=1)
    build.make(work.environment, "dev", ["torch_acme_spirv"])
    variables |= build.python_path(work.folder, "python_spirv")
    tests = f"{PORTABLE.tests}/test_training.py"
    steps = run_pytest(work.environment, "portable, Level Zero", tests, variables, workers=1)
    tests = f"{COMPILED.tests}/test_operators.py"
    compiled = run_pytest(work.environment, "compiled, Level Zero", tests, variables, workers=1)
    return (
        f"{suite}; kernels: {kernels}; training steps by portable kernels: {steps}; "
        f"compiled operators: {compiled}"
    )


def _opencl_on_intel(work: Work) -> str:
    """With unified shared memory and SPIR-V, which Debian's PoCL has not; and with PoCL's devices
    beside Intel's, which are another driver's."""
    STAND_INS[2].require(work.folder)
    options = provide_intel_opencl()
    both = work.folder / "tests/opencl_vendors_both"
    both.mkdir(exist_ok=True)
    for vendors in (Path(options["OCL_ICD_VENDORS"]), work.folder / "tests/opencl_vendors"):
        for file in vendors.glob("*.icd"):
            shutil.copy(file, both)
    options = {**options, "OCL_ICD_VENDORS": os.fspath(both)}
    return ctest.run(work.folder, "OpenCL, Intel's", "-R", r"^cl_suite\.summary$", options=options)


def _portable_as_fibers(work: Work) -> str:
    build.make(work.environment, "dev", PORTABLE_AS_FIBERS.targets)
    return _on(PORTABLE_AS_FIBERS, PORTABLE_AS_FIBERS.name, *PORTABLE_AS_FIBERS.options)(work)


def _libraries(work: Work) -> str:
    """The wheel's Python package is the tree's, and the backend's that of the build: both fit
    another environment with the same Python and torch."""
    if work.environment.torch.partition("+")[0] != DEFAULT_TORCH:
        raise console.NotRun(f"the libraries are those beside torch {DEFAULT_TORCH}")
    python = provide_libraries(DEFAULT_TORCH, work.libraries)
    package = os.fspath(ROOT / "generators/cli")
    any_version = {"OUTBACK_INTEGRATIONS_ANY_VERSION": "1"} if work.libraries else {}
    outcomes = []
    for suite in LIBRARIES:
        build.build(work.environment, "dev", targets=suite.targets)
        suite.require(work.folder)
        variables = dict(suite.variables(work.folder))
        variables["PYTHONPATH"] = os.pathsep.join((variables["PYTHONPATH"], package))
        tests = run_pytest(python, suite.name, suite.tests, {**variables, **any_version})
        outcomes.append(f"{suite.title}: {tests}")
    return "; ".join(outcomes)


def _without_unity(work: Work) -> str:
    build.build(work.environment, "no-unity")
    return "compiles"


def _clang(work: Work) -> str:
    if not shutil.which("clang++-14"):
        raise console.NotRun("clang++-14 is missing (Debian's package clang-14)")
    build.build(work.environment, "clang", targets=_CLANG_TARGETS)
    return "compiles"


def _newest_torch(work: Work) -> str:
    """In a process of its own, with an environment and build trees of its own."""
    if work.environment.torch.partition("+")[0] != DEFAULT_TORCH:
        raise console.NotRun(f"it belongs to the run with torch {DEFAULT_TORCH}")
    with console.step(f"./dev test --torch {_NEWEST_TORCH}") as step:
        command = [sys.executable, ROOT / "dev", "test", "--torch", _NEWEST_TORCH]
        done = shell.run("newest-torch", command)
        step.note = (done.stdout.strip().splitlines() or [""])[-1]
    return step.note


def _mutants(work: Work) -> str:
    if work.environment.torch.partition("+")[0] != DEFAULT_TORCH:
        raise console.NotRun(f"the mutants are tried with torch {DEFAULT_TORCH}")
    with console.step("mutants") as step:
        done = shell.run("mutants", [work.environment.python, _MUTANTS])
        step.note = (done.stdout.strip().splitlines() or [""])[-1]
    return step.note


PARTS = (
    Part("cpp", "the C++ tests", lambda it: ctest.run(it.folder, "dev")),
    Part(
        "clang",
        "clang 14 compiles the contract, the layers and the host runtime",
        _clang,
        on_dev=False,
    ),
    # The pages run two at a time: what takes longest first.
    Part(
        "stubs",
        "the type stubs are up to date; mypy finds nothing in them, the command and conformance",
        lambda it: stubs.check(it.environment, it.folder),
        one_core=True,
    ),
    Part(
        "runtimes-page",
        "docs/runtimes.md says what the runtime suite finds",
        lambda it: runtime_table.check(it.folder),
        one_core=True,
    ),
    Part(
        "contract-page",
        "docs/contract.md says what the contract's header does",
        lambda it: contract_page.check(),
        on_dev=False,
        one_core=True,
    ),
    Part(
        "conformance-page",
        "docs/conformance.md names the suites that there are",
        lambda it: suites_page.check(),
        on_dev=False,
        one_core=True,
    ),
    Part(
        "architecture-page",
        "docs/architecture.md says what includes what, and which way calls go",
        lambda it: architecture_page.check(it.environment, it.folder),
        one_core=True,
    ),
    Part(
        "format",
        "clang-format and ruff find nothing",
        lambda it: lint.check(it.environment),
        on_dev=False,
        one_core=True,
    ),
    Part(
        "site",
        "the documentation as a site, whose links lead somewhere",
        lambda it: documentation.build(it.environment),
        on_dev=False,
        one_core=True,
    ),
    *map(_short_python, PYTHON_SUITES),
    *map(_whole_python, PYTHON_SUITES),
    *map(_suite, OTHER_SUITES),
    *(_slow(suite) for suite in OTHER_SUITES if suite.marks),
    _long(PORTABLE_AS_FIBERS.name, PORTABLE_AS_FIBERS.title, _portable_as_fibers),
    # A driver's memory is in place or apart, as the host's is: drivers are at standard only.
    *(_conformance_quick(run) for run in RUNS if run.driver is None),
    *map(_conformance, RUNS),
    _conformance(PORTABLE_RUN, ROOT / "tests/conformance/portable.expectations"),
    _long(
        "cpp-long",
        "the C++ tests with more and longer random programs",
        lambda it: ctest.run(it.folder, "dev, long", "-C", "long", "-L", "long"),
    ),
    *map(_samples, samples.WAYS),
    *map(_samples_on, STAND_INS),
    _on_cuda(ON_CUDA),
    _long(
        "level-zero-executed",
        "Level Zero's kernels, whose SPIR-V Intel's OpenCL driver for CPUs runs",
        _level_zero_executed,
    ),
    _long(
        "opencl-on-intel",
        "the runtime suite on OpenCL, by Intel's driver for CPUs",
        _opencl_on_intel,
    ),
    _long(BESIDE.name, BESIDE.title, _on(BESIDE, BESIDE.name)),
    _long("libraries", "programs of other people's libraries", _libraries, on_dev=False),
    _long(
        "wheels",
        "one wheel for torch 2.11 to 2.15, in an environment in which torch is exchanged",
        lambda it: run_pytest(it.environment, "wheels", "tests/wheels", {}, workers=1),
        on_dev=False,
    ),
    _long(
        "asan",
        "the C++ tests with the address and undefined behaviour sanitizers",
        lambda it: sanitizers.asan(it.environment),
        on_dev=False,
    ),
    _long(
        "asan-python",
        "Python programs with the address sanitizer",
        lambda it: sanitizers.asan_python(it.environment),
        on_dev=False,
    ),
    _long(
        "tsan",
        "the C++ tests with the thread sanitizer",
        lambda it: sanitizers.tsan(it.environment),
        on_dev=False,
    ),
    _long(
        "tsan-python",
        "Python programs with the thread sanitizer",
        lambda it: sanitizers.tsan_python(it.environment),
        on_dev=False,
    ),
    _long("valgrind", "memcheck over what sees no torch", lambda it: valgrind.run(it.folder)),
    _long(
        "fuzz",
        "libFuzzer over the layers, for five minutes",
        lambda it: fuzz.run(it.environment),
        on_dev=False,
    ),
    _long("no-unity", "every source compiles by itself", _without_unity, on_dev=False),
    _long("mutants", "one-line defects, each found by a test", _mutants, on_dev=False),
    _long(
        "newest-torch",
        f"all that ./dev test runs, with torch {_NEWEST_TORCH}",
        _newest_torch,
        on_dev=False,
    ),
)


def of(run: str) -> list[Part]:
    return [part for part in PARTS if run in part.runs]


def named(names: list[str]) -> list[Part]:
    """The parts of these names, in the order in which they run."""
    known = [part.name for part in PARTS]
    for name in names:
        if name not in known:
            raise console.WrongUsage(f"There is no part {name}. ./dev test --list names them.")
    return [part for part in PARTS if part.name in names]
