"""./dev test: what CI runs, and with --all everything that takes longer."""

import os
import re
from pathlib import Path

from . import build, console, shell
from .environment import Environment
from .paths import ROOT
from .report import Report

_ASAN = {
    # Leaks at exit are reported; what Outback leaves alive for torch on purpose stays reachable and is none.
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "LSAN_OPTIONS": f"suppressions={ROOT / 'tools/dev/sanitizers/lsan.supp'}",
}
_TSAN = {"TSAN_OPTIONS": f"halt_on_error=1:suppressions={ROOT / 'tools/dev/sanitizers/tsan.supp'}"}


def run(environment: Environment, everything: bool) -> int:
    report = Report()
    folder = build.build(environment, "dev")
    report.part("C++", lambda: _ctest(folder, "dev"))
    report.part("Python", lambda: _pytest(environment, folder, "tests/python"))
    report.part(
        "package",
        lambda: _pytest(environment, folder, "tests/package", slow=everything),
    )
    if everything:
        report.part("asan + ubsan", lambda: _sanitized(environment, "asan", _ASAN))
        report.part("tsan", lambda: _sanitized(environment, "tsan", _TSAN))
        report.part("without unity builds", lambda: _built(environment, "no-unity"))
    return report.finish()


def _built(environment: Environment, preset: str) -> str:
    build.build(environment, preset)
    return "compiles"


def _sanitized(environment: Environment, preset: str, options: dict[str, str]) -> str:
    return _ctest(build.build(environment, preset), preset, env=options)


def _ctest(folder: Path, preset: str, env: dict[str, str] | None = None) -> str:
    # Two programs at a time, each with one thread for torch: more would only wait for one another.
    command = ["ctest", "--test-dir", folder, "--output-on-failure", "-j", "2"]
    with console.step(f"C++ tests, {preset}") as step:
        done = shell.run(f"ctest-{preset}", command, env={"OMP_NUM_THREADS": "1", **(env or {})})
        total = re.search(r"out of (\d+)", done.stdout)
        if not total:
            raise console.Failure(f"ctest found no tests in {folder.relative_to(ROOT)}.")
        step.note = f"{total.group(1)} programs passed"
    return step.note


def _pytest(environment: Environment, folder: Path, tests: str, *, slow: bool = False) -> str:
    variables = {
        **build.python_path(folder),
        "OMP_NUM_THREADS": "1",
        "OUTBACK_BUILD_DIR": os.fspath(folder),
    }
    command = [
        environment.python,
        "-m",
        "pytest",
        "-q",
        "-rfE",
        *_workers(environment),
        tests,
    ]
    name = Path(tests).name
    with console.step(f"Python tests, {name}") as step:
        done = shell.run(f"pytest-{name}", command, env=variables)
        step.note = re.sub(r" in [\d.]+s.*", "", done.stdout.strip().splitlines()[-1]).strip("= ")
    return step.note


def _workers(environment: Environment) -> list[str]:
    return ["-n", "2"] if environment.has("xdist") else []
