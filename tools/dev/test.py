"""./dev test: what CI runs, and with --all everything that takes longer."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from . import (
    build,
    console,
    contract_page,
    documentation,
    fuzz,
    runtime_table,
    shell,
    stubs,
    valgrind,
    works_table,
)
from .environment import Environment
from .paths import LOG, ROOT
from .report import Report
from .stand_ins import STAND_INS, StandIn

# Two programs at a time with one thread of torch each; more would wait for one another.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_SUPPRESSIONS = ROOT / "tools/dev/sanitizers"
_ASAN = {
    # What Outback keeps for torch on purpose stays reachable, so that it is no leak.
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "LSAN_OPTIONS": f"suppressions={_SUPPRESSIONS / 'lsan.supp'}",
}
# The interpreter and torch are not instrumented: what they keep is no leak of ours, and the
# sanitizer does not know the bounds of a vector that they have filled.
_ASAN_PYTHON = {
    **_ASAN,
    "ASAN_OPTIONS": "detect_leaks=0:detect_container_overflow=0",
}
# Where the order at the end of a process, or of a thread, is what counts.
_UNDER_ASAN = ("test_exit.py", "test_fork.py", "test_autograd_threads.py", "memory")
_TSAN = {"TSAN_OPTIONS": f"suppressions={_SUPPRESSIONS / 'tsan.supp'}"}

# The host's backends that the Python tests run on: the package's folder in the build tree, and
# variables.
_HOST = {
    "host": ("python", {}),
    "host, memory apart": ("python_protected", {"OUTBACK_HOST_PROTECTED": "1"}),
    "null": ("python_null", {}),
}
# What asks nothing of a runtime, so that it runs on the host's, and on all of them with --all.
_SAME_ON_ALL = ("module/test_lazy_calls.py", "test_bench.py", "test_registration.py")
# What asks nothing of the null runtime that it does not ask of the host's.
_SAME_ON_NULL = ("ecosystem/test_inductor.py", "module/test_visible_devices.py", "oracle")
# What asks nothing of a driver that it does not ask of the host's runtime with memory apart.
_SAME_ON_DRIVERS = (
    "ops",
    "oracle",
    "methods",
    "module/test_visible_devices.py",
    "test_opinfo_subset.py",
    "test_device_type_tests.py",
)
_LEFT_OUT = {
    "host": (),
    "host, memory apart": _SAME_ON_ALL,
    "null": _SAME_ON_ALL + _SAME_ON_NULL,
    **{driver.name: _SAME_ON_ALL + _SAME_ON_DRIVERS for driver in STAND_INS},
}
# The ways to serve operators that a whole run of PyTorch's samples is kept of.
_WAYS = {"redispatch": {}, "fallback": {"OUTBACK_HOST_PROTECTED": "1"}}


def run(environment: Environment, everything: bool) -> int:
    report = Report()
    folder = build.build(environment, "dev")
    report.part("C++", lambda: _ctest(folder, "dev"))
    report.part("docs/runtimes.md", lambda: runtime_table.check(folder))
    report.part("docs/contract.md", contract_page.check)
    report.part("documentation", lambda: documentation.build(environment))
    report.part("type stubs", lambda: stubs.check(environment, folder))
    for name, (package, variables) in _HOST.items():
        path = build.python_path(folder, package)
        report.part(
            f"Python, {name}",
            lambda name=name, variables={**path, **variables}: run_pytest(
                environment,
                f"python, {name}",
                "tests/python",
                variables,
                *_left_out(name, everything),
            ),
        )
    for driver in STAND_INS:
        report.part(
            f"Python, {driver.name}",
            lambda driver=driver: _on_stand_in(
                environment, folder, driver, _left_out(driver.name, everything)
            ),
        )
    if not everything:  # which runs more on some runtimes than the table says
        report.part("README's table", works_table.check)
    path = build.python_path(folder, "python_kernels")
    report.part(
        "Python, native kernels",
        lambda variables=path: run_pytest(environment, "kernels", "tests/kernels", variables),
    )
    later = {
        **build.python_path(folder, "python_protected"),
        "OUTBACK_LATER_KERNELS": os.fspath(folder / "later_kernels/later_kernels.so"),
        "TORCH_CPP_LOG_LEVEL": "ERROR",  # PyTorch warns of each kernel that takes another's place
    }
    report.part(
        "Python, kernels that come later",
        lambda: run_pytest(environment, "later kernels", "tests/kernels", later),
    )
    path = {**build.python_path(folder), "OUTBACK_BUILD_DIR": os.fspath(folder)}
    report.part(
        "conformance suite",
        lambda: run_pytest(environment, "conformance", "tests/conformance", path),
    )
    report.part("examples", lambda: run_pytest(environment, "examples", "tests/examples", path))
    selected = () if everything else ("-m", "not slow")
    report.part(
        "package", lambda: run_pytest(environment, "package", "tests/package", path, *selected)
    )
    if everything:
        report.part("C++, long", lambda: _ctest(folder, "dev", None, "-C", "long", "-L", "long"))
        for way, variables in _WAYS.items():
            report.part(
                f"PyTorch's samples, {way}",
                lambda way=way, variables={**path, **variables}: _samples(
                    environment, way, variables
                ),
            )
        for driver in STAND_INS:
            report.part(
                f"PyTorch's samples, {driver.name}",
                lambda driver=driver: _samples_on_stand_in(environment, folder, driver),
            )
        report.part("asan + ubsan", lambda: _sanitized(environment, "asan", _ASAN))
        report.part("asan, Python", lambda: _sanitized_python(environment))
        report.part("tsan", lambda: _sanitized(environment, "tsan", _TSAN))
        report.part("valgrind", lambda: valgrind.run(folder))
        report.part("libFuzzer", lambda: fuzz.run(environment))
        report.part("without unity builds", lambda: _built(environment, "no-unity"))
    return report.finish()


def _left_out(name: str, everything: bool) -> list[str]:
    """pytest's options for the backend of that name."""
    return [] if everything else [f"--ignore=tests/python/{test}" for test in _LEFT_OUT[name]]


def _ctest(
    folder: Path, preset: str, options: Mapping[str, str] | None = None, *selected: str
) -> str:
    """Runs the tests of a build tree: those that are `selected`, or all but the long ones."""
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "-j", "2", *selected]
    log = f"ctest-{preset}{'-long' if selected else ''}"
    with console.step(f"C++ tests, {preset}{', long' if selected else ''}") as step:
        done = shell.run(log, command, env={**_ONE_THREAD, **(options or {})}, check=False)
        total = re.search(r"(\d+) tests failed out of (\d+)", done.stdout)
        if done.returncode or not total:
            raise shell.failure(log, done, _failed_tests(done.stdout))
        skipped = done.stdout.count("***Skipped")
        step.note = f"{int(total.group(2)) - skipped} passed"
        if skipped:  # a runtime without a group has nothing to test there
            step.note += f", {skipped} unsupported"
    return step.note


def _failed_tests(output: str) -> str:
    """What the failed tests printed, out of all that ctest did."""
    failed = re.compile(r"\*\*\*(Failed|Timeout|Exception|Not Run)")
    next_test = re.compile(r"^\s*(\d+/\d+ Test|Start\s+\d+:|\d+% tests passed)")
    kept, inside = [], False
    for line in output.splitlines(keepends=True):
        inside = bool(failed.search(line)) or (inside and not next_test.match(line))
        if inside:
            kept.append(line)
    return "".join(kept)


def run_pytest(
    environment: Environment, name: str, tests: str, variables: Mapping[str, str], *options: str
) -> str:
    command = [environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    if environment.has("xdist"):
        command += ["-n", "2"]
    log = f"pytest-{re.sub('[ ,]+', '-', name)}"
    results = LOG / f"{log}.xml"  # works_table reads it
    results.unlink(missing_ok=True)
    command += [f"--junitxml={results}", tests]
    with console.step(f"pytest, {name}") as step:
        done = shell.run(log, command, env={**_ONE_THREAD, **variables})
        step.note = re.sub(r" in [\d.]+s.*", "", done.stdout.strip().splitlines()[-1]).strip("= ")
    return step.note


def _on_stand_in(
    environment: Environment, folder: Path, driver: StandIn, options: list[str]
) -> str:
    if not driver.is_built(folder):
        return driver.not_built()
    name, variables = f"python, {driver.name}", driver.variables(folder)
    return run_pytest(environment, name, "tests/python", variables, *options)


def _samples_on_stand_in(environment: Environment, folder: Path, driver: StandIn) -> str:
    """At the level of the host runtime with memory apart."""
    if not driver.is_built(folder):
        return driver.not_built()
    return _samples(environment, "fallback", driver.variables(folder), driver.name)


def _samples(environment: Environment, way: str, variables: Mapping[str, str], on: str = "") -> str:
    """Of operators, modules and optimizers: none may be worse than in the committed results."""
    release = environment.torch.partition("+")[0]
    results = ROOT / f"tests/conformance/results/acme-{release}-{way}.json"
    if not results.exists():
        return f"no results to compare with: {results.relative_to(ROOT)}"
    command = [environment.python, ROOT / "tests/conformance/run.py", "--device", "acme"]
    command += ["--import", "torch_acme", "--check", results]
    with console.step(f"PyTorch's samples, {on or way}"):
        shell.run(f"samples-{on.replace(' ', '-') or way}", command, env=variables)
    return "none worse"


def _sanitized(environment: Environment, preset: str, options: Mapping[str, str]) -> str:
    return _ctest(build.build(environment, preset), preset, options)


def _sanitized_python(environment: Environment) -> str:
    """Python programs under the address sanitizer, which is in the process from its start."""
    folder = build.build(environment, "asan-python", targets=("scaffold",))
    libraries = [
        shell.output(["g++", f"-print-file-name={name}"]).strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    variables = {
        **build.python_path(folder),
        **_ASAN_PYTHON,
        "LD_PRELOAD": os.pathsep.join(libraries),
    }
    tests = [ROOT / "tests/python" / name for name in _UNDER_ASAN]
    return run_pytest(environment, "asan, python", tests[0], variables, *map(str, tests[1:]))


def _built(environment: Environment, preset: str) -> str:
    build.build(environment, preset)
    return "compiles"
