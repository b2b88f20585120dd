"""What a runtime's own calls cost, without torch: the C++ programs beside the backend's package.

The limits are the contract's: times over a fixed amount are rows whose reference is that amount.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from rows import Row, Section
from timing import Measurement

REPETITIONS = 15
Times = dict[str, list[float]]  # nanoseconds an iteration, by benchmark, in the order of time


def sections() -> list[Section]:
    folder = programs()
    if folder is None:
        return []
    table = times_of(folder / "bench_table")
    host = times_of(folder / "bench_runtime_host")
    sizes = {4 << 10: "4 KiB", 256 << 20: "256 MiB"}
    ways = ("host_to_device", "device_to_host", "device_to_device")
    rows = [
        row_of(f"{name} through the table, above the class's", "5 ns", limit=1.0,
             subject=_difference(table[f"{name}_of_the_table"], table[f"{name}_of_the_class"]),
             reference=5.0)
        for name in ("sync", "copy")
    ]  # fmt: skip
    rows += [
        row_of(name, "300 ns", host[f"{key}/real_time"], 300.0, limit=1.0)
        for name, key in (
            ("record an event", "record_event"),
            ("synchronize an idle stream", "sync_idle_stream"),
        )
    ]
    for size, words in sizes.items():
        plain = host[f"memcpy_of_the_host/{size}/real_time"]
        small = size < 1 << 20
        reference = [1.5 * ns + 500 for ns in plain] if small else plain
        against = "1.5 memcpy + 0.5 µs" if small else "memcpy"
        rows += [
            row_of(f"{way.replace('_', ' ')}, {words}", against,
                 host[f"copy/{way}/{size}/real_time"], reference, limit=1.0 if small else 1 / 0.95,
                 moved=size)
            for way in ways
        ]  # fmt: skip
    rows += [
        row_of(f"copies of 64 KiB, {threads} threads on {threads} streams", "memcpy in the threads",
             host[f"copies_on_own_streams/real_time/threads:{threads}"],
             host[f"memcpys_of_threads/real_time/threads:{threads}"])
        for threads in (1, 8)
    ]  # fmt: skip
    return [Section("the host runtime's own calls, without torch", rows)]


def programs() -> Path | None:
    """The folder bench/ of the build tree whose Python packages are on the path."""
    for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        folder = Path(entry).parent / "bench"
        if (folder / "bench_table").exists():
            return folder
    return None


def times_of(program: Path, **variables: str) -> Times:
    """Repetitions of all benchmarks in random order, so that a busy moment hits no row alone.
    `variables` are added to the program's environment."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [
                program,
                f"--benchmark_repetitions={REPETITIONS}",
                "--benchmark_enable_random_interleaving=true",
                "--benchmark_min_time=0.02",
                f"--benchmark_out={out.name}",
                "--benchmark_out_format=json",
            ],
            check=True,
            env=os.environ | variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        runs = json.load(out)["benchmarks"]
    times: Times = {}
    unit = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
    for run in runs:
        if run["run_type"] == "iteration" and not run.get("error_occurred"):
            times.setdefault(run["run_name"], []).append(run["real_time"] * unit[run["time_unit"]])
    return times


def _difference(subject: list[float], reference: list[float]) -> list[float]:
    return [a - b for a, b in zip(subject, reference, strict=True)]


def row_of(
    name: str,
    against: str,
    subject: list[float],
    reference: list[float] | float,
    *,
    limit: float | None = None,
    moved: int | None = None,
) -> Row:
    if isinstance(reference, float):
        reference = [reference] * len(subject)
    ratios = [a / b for a, b in zip(subject, reference, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    median: Callable[[list[float]], float] = statistics.median
    measured = Measurement(median(subject), median(reference), middle, low, high, len(ratios))
    return Row(name, against, measured, moved, limit)
