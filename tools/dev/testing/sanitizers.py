"""The tests on builds with sanitizers, each in a build tree of its own."""

import os

from .. import build, shell
from ..environment import Environment
from ..paths import ROOT
from . import ctest
from .pytest_run import run_pytest

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
# Where the order at the end of a process, or of a thread, is what counts; and what holds memory.
_UNDER_ASAN = (
    "test_exit.py",
    "test_fork.py",
    "test_autograd_threads.py",
    "memory",
    "ops/test_views_keep_memory.py",
)
_TSAN = {"TSAN_OPTIONS": f"suppressions={_SUPPRESSIONS / 'tsan.supp'}"}


def asan(environment: Environment) -> str:
    return ctest.run(build.build(environment, "asan"), "asan", options=_ASAN)


def tsan(environment: Environment) -> str:
    return ctest.run(build.build(environment, "tsan"), "tsan", options=_TSAN)


def asan_python(environment: Environment) -> str:
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
    tests = [f"tests/python/{name}" for name in _UNDER_ASAN]
    return run_pytest(environment, "asan, python", tests, variables)
