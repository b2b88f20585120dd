"""libFuzzer over the layers, where there is a clang that brings it."""

import os
import re
import shutil

from . import build, console, shell
from .environment import Environment

_SECONDS = 300


def run(environment: Environment) -> str:
    """Random calls, led by what they reach; keeps what it found interesting in the build tree."""
    clang = _clang()
    if clang is None:
        raise console.NotRun("needs clang++ with libFuzzer (libclang-rt-*-dev)")
    c = clang.replace("clang++", "clang")
    compilers = (f"CMAKE_CXX_COMPILER={clang}", f"CMAKE_C_COMPILER={c}")
    folder = build.build(environment, "fuzz", *compilers, targets=["layers_fuzzer"])
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    command = [folder / "tests/layers/layers_fuzzer", f"-max_total_time={_SECONDS}"]
    command += ["-max_len=8192", "-timeout=60", f"-artifact_prefix={folder}{os.sep}", corpus]
    with console.step("libFuzzer") as step:
        done = shell.run("libfuzzer", command, env={"ASAN_OPTIONS": "allocator_may_return_null=1"})
        runs = re.search(r"Done (\d+) runs", done.stdout)
        step.note = f"{runs.group(1) if runs else 'no'} runs"
    return step.note


def _clang() -> str | None:
    names = ("clang++", *(f"clang++-{version}" for version in range(25, 13, -1)))
    return next(filter(None, map(shutil.which, names)), None)
