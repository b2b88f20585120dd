"""./dev gpu: the CUDA runtime on the devices that this machine has."""

import ctypes
import json
import os
import shutil
from pathlib import Path

from . import build, console, shell
from .environment import Environment
from .paths import ROOT
from .report import Report
from .test import run_pytest

_EXPECTATIONS = ROOT / "tests/runtime/cuda/cuda.expectations"
_TARGETS = ("cuda_device_suite", "torch_acme_cuda", "bench_cuda")
_RESULTS = ROOT / "bench/results"
_SANITIZER = ("--tool", "memcheck", "--error-exitcode", "9", "--report-api-errors", "no")
# The sanitizer slows work down, and holds memory that GrowthTest counts.
_FEW = ("--programs=20", "--gtest_filter=-GrowthTest.*:IpcTest.AnotherProcess*")


def run(environment: Environment, save: bool) -> int:
    _need_a_device()
    folder = build.build(environment, "gpu", targets=_TARGETS)
    suite = folder / "tests/runtime/cuda/cuda_device_suite"
    report = Report()
    report.part("runtime suite", lambda: _suite("suite", [suite], "--programs=1000"))
    report.part("compute-sanitizer", lambda: _under_sanitizer(suite))
    variables = build.python_path(folder, "python_cuda")
    report.part("demo", lambda: _demo(environment, variables))
    report.part("Python", lambda: run_pytest(environment, "python, gpu", "tests/python", variables))
    report.part("bench", lambda: _bench(folder, save))
    return report.finish()


def _need_a_device() -> None:
    if os.environ.get("OUTBACK_CUDART"):
        return  # whatever that library finds
    count = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        problem = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    except OSError as error:
        raise console.Failure(f"No NVIDIA driver here: {error}. {_INSTEAD}") from None
    if problem or count.value == 0:
        raise console.Failure(
            f"The NVIDIA driver finds no device (CUDA error {problem}). {_INSTEAD}"
        )


_INSTEAD = "./dev test runs the same suite on a libcudart in software."


def _suite(log: str, program: list[str | Path], *options: str) -> str:
    with console.step(f"runtime suite{'' if log == 'suite' else ', ' + log}") as step:
        done = shell.run(f"gpu-{log}", [*program, f"--expectations={_EXPECTATIONS}", *options])
        step.note = next(
            line for line in reversed(done.stdout.splitlines()) if " passed, " in line
        ).strip()
    return step.note


def _under_sanitizer(suite: Path) -> str:
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        return "not run: compute-sanitizer is missing"
    return _suite("compute-sanitizer", [sanitizer, *_SANITIZER, suite], *_FEW)


def _demo(environment: Environment, variables: dict[str, str]) -> str:
    with console.step("demo") as step:
        train = [environment.python, ROOT / "examples/train_digits/train.py"]
        done = shell.run("gpu-demo", train, env=variables)
        accuracy = next(line for line in done.stdout.splitlines() if "accuracy" in line)
        step.note = " ".join(accuracy.replace("│", " ").split())
    return step.note


def _bench(folder: Path, save: bool) -> str:
    """Each of the runtime's calls beside the bare one of CUDA's: `x/runtime` and `x/cuda`."""
    program = folder / "bench/bench_cuda"
    with console.step("bench"):
        out = folder / "bench_cuda.json"
        options = ["--benchmark_out_format=json", f"--benchmark_out={out}"]
        shell.run("gpu-bench", [program, *options, "--benchmark_repetitions=5"])
    document = json.loads(out.read_text())
    rows = _rows(document["benchmarks"])
    table = "\n".join(_table(rows))
    console.title(f"\n{table}")
    if save:
        device = document["context"]["device"].replace(" ", "-").lower()
        file = _RESULTS / f"cuda-{device}.md"
        about = f"{document['context']['device']}; CUDA {document['context']['cuda']}"
        file.write_text(f"{_NOTE}\n\n{about}.\n\n{table}\n")
        return f"{len(rows)} rows in {file.relative_to(ROOT)}"
    return f"{len(rows)} rows"


_NOTE = (
    "The CUDA runtime's calls beside the bare ones of libcudart, in one run: medians of five "
    "repetitions. The ratios carry over to other machines, the times do not."
)


def _rows(benchmarks: list[dict]) -> list[tuple[str, float, float]]:
    """(what, nanoseconds through the runtime, nanoseconds bare), in the order of the program."""
    medians = {
        each["run_name"]: each["real_time"]
        for each in benchmarks
        if each.get("aggregate_name") == "median"
    }
    return [
        (
            name.replace("/runtime", "").replace("/real_time", ""),
            time,
            medians[name.replace("/runtime", "/cuda")],
        )
        for name, time in medians.items()
        if "/runtime" in name
    ]


def _table(rows: list[tuple[str, float, float]]) -> list[str]:
    lines = ["| | runtime | CUDA | ratio |", "|---|---:|---:|---:|"]
    for name, ours, bare in rows:
        lines.append(f"| {name} | {ours:,.0f} ns | {bare:,.0f} ns | {ours / bare:.2f} |")
    return lines
