"""The tests on builds with sanitizers, each in a build tree of its own."""

import os
from collections.abc import Mapping, Sequence

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
# The interpreter and torch are not instrumented: what they do with memory, and how their threads
# wait for each other, is not seen. A child of a fork goes on.
_TSAN_PYTHON = {
    "TSAN_OPTIONS": f"{_TSAN['TSAN_OPTIONS']}:ignore_noninstrumented_modules=1:die_after_fork=0"
}
# Where threads of a program meet: streams, the allocator, autograd's threads, registration.
_UNDER_TSAN = ("test_autograd_threads.py", "streams", "memory", "graphs", "pinned")


def asan(environment: Environment) -> str:
    return ctest.run(build.build(environment, "asan"), "asan", options=_ASAN)


def tsan(environment: Environment) -> str:
    return ctest.run(build.build(environment, "tsan"), "tsan", options=_TSAN)


def asan_python(environment: Environment) -> str:
    return _python(environment, "asan", ("libasan.so", "libubsan.so"), _ASAN_PYTHON, _UNDER_ASAN)


def tsan_python(environment: Environment) -> str:
    return _python(environment, "tsan", ("libtsan.so",), _TSAN_PYTHON, _UNDER_TSAN)


def _python(
    environment: Environment,
    name: str,
    libraries: Sequence[str],
    options: Mapping[str, str],
    tests: Sequence[str],
) -> str:
    """Python programs under a sanitizer, which is in the process from its start."""
    folder = build.build(environment, f"{name}-python", targets=("scaffold",))
    preloaded = [
        shell.output(["g++", f"-print-file-name={library}"]).strip()
        for library in (*libraries, "libstdc++.so")
    ]
    variables = {
        **build.python_path(folder),
        **options,
        "LD_PRELOAD": os.pathsep.join(preloaded),
    }
    paths = [f"tests/python/{test}" for test in tests]
    return run_pytest(environment, f"{name}, python", paths, variables)
