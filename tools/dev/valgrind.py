"""valgrind's memcheck over what sees no torch: the suite, the layers, the host runtime."""

import shutil
from pathlib import Path

from . import console, shell
from .paths import ROOT

# valgrind runs one thread at a time, some thirty times slower: few random programs. It holds more
# of what GrowthTest counts, and is itself what a program finds that starts itself once more.
_SUITE = (
    *("--programs=20", "--time-limit=0"),
    "--gtest_filter=-GrowthTest.*:IpcTest.AnotherProcess*",
)
_PROGRAMS = {
    "tests/runtime/host_suite": _SUITE,
    "tests/runtime/host_apart_suite": _SUITE,
    "tests/runtime/host_adversarial_suite": _SUITE,
    "tests/runtime/null_suite": _SUITE,
    "tests/runtime/c_suite": _SUITE,
    "tests/runtime/table_of_test": (),
    "tests/runtime/host_graphs_test": (),
    "tests/runtime/host_streams_test": (),
    # Protected memory wants more addresses than valgrind leaves. A forked child has what the
    # parent's threads hold, and not the threads: memcheck takes it for lost.
    "tests/runtime/host_ipc_test": ("--gtest_filter=-*Protected*:*ARecordingThatFails*",),
    "tests/layers/layers_test": (),
}
_MEMCHECK = (
    "-q",
    "--error-exitcode=9",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite,indirect",
    "--show-leak-kinds=definite,indirect",
    "--fair-sched=yes",
    f"--suppressions={ROOT / 'tools/dev/sanitizers/valgrind.supp'}",
)


def run(folder: Path) -> str:
    """Runs the programs of a build tree."""
    if shutil.which("valgrind") is None:
        raise console.NotRun("valgrind is missing")
    for program, options in _PROGRAMS.items():
        name = Path(program).name
        with console.step(f"valgrind, {name}"):
            shell.run(f"valgrind-{name}", ["valgrind", *_MEMCHECK, folder / program, *options])
    return f"{len(_PROGRAMS)} programs clean"
