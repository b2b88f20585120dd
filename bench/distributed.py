"""torch.distributed between two processes, against the same on CPU tensors over Gloo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import timing
from backend import Backend
from rows import Row, Section
from timing import Measurement

RANKS = 2
RANK = Path(__file__).with_name("distributed_rank.py")
# Of the ratios. Steps have none over copies, where operators take longer than the CPU's.
LIMITS = {
    "all_reduce, 64 MiB": {"in place": 1.05, "staged": 1.15},
    "all_reduce, 16 bytes": {"in place": 1.30},
    "DDP step of a small GPT": {"in place": 1.10},
    "FSDP2 step of a small GPT": {"in place": 1.15},
    "a step of 4 buckets": {"in place": 0.80, "staged": 0.80},
}


def sections(backend: Backend, mebibytes: int, seconds: float) -> list[Section]:
    """With at most so many MiB in an all_reduce."""
    ways = {"in place" if backend.is_in_place else "staged": {}}
    if backend.is_in_place and backend.is_host_runtime:
        ways["staged"] = {"OUTBACK_HOST_ADDRESSABLE": "0"}
    found = {
        way: _rows(backend, way, mebibytes, seconds, variables) for way, variables in ways.items()
    }
    constants = [row for way, rows in found.items() for row in _constants(way, mebibytes, rows)]
    return [
        *(Section(f"torch.distributed, {RANKS} processes, {way}", found[way]) for way in found),
        Section("torch.distributed, the constants of a link", constants),
    ]


def _rows(
    backend: Backend, way: str, mebibytes: int, seconds: float, variables: dict[str, str]
) -> list[Row]:
    return [
        Row(name, against, Measurement(**measured), limit=LIMITS.get(name, {}).get(way))
        for name, against, measured in _measured(backend, mebibytes, seconds, variables)
    ]


def _constants(way: str, mebibytes: int, measured: list[Row]) -> list[Row]:
    """Of the time of a ring's all_reduce, 2 (p - 1) (alpha + n / (p beta)) for n bytes."""
    times = {row.name: row.measured.ns for row in measured}
    latency, messages = times["all_reduce, 16 bytes"], 2 * (RANKS - 1)
    transfer = times[f"all_reduce, {mebibytes} MiB"] - latency
    size = (mebibytes << 20) // RANKS
    rows = [Row(f"alpha, {way}: a message without bytes", "", _once(latency / messages))]
    # In a short run on a busy machine the large message may be the faster one: no bandwidth.
    if transfer > 0:
        name = f"beta, {way}: a message of {size / 2**20:g} MiB"
        rows.append(Row(name, "", _once(transfer / messages), bytes=size))
    return rows


def _once(ns: float) -> Measurement:
    return Measurement(ns, None, None, None, None, 1)


def _measured(
    backend: Backend, mebibytes: int, seconds: float, variables: dict[str, str]
) -> list[tuple[str, str, dict]]:
    """What the ranks' programs measure: names, what they are measured against, Measurements."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            subprocess.Popen(
                [
                    *(sys.executable, str(RANK), "--rank", str(rank), "--ranks", str(RANKS)),
                    *("--package", backend.package, "--device", backend.name),
                    *("--store", f"{folder}/store", "--seconds", str(seconds)),
                    *("--mebibytes", str(mebibytes), "--rounds", str(timing.MIN_ROUNDS)),
                ],
                env=os.environ | {"OMP_NUM_THREADS": "1"} | variables,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(RANKS)
        ]
        outputs = [process.communicate()[0] for process in ranks]
    if any(process.returncode for process in ranks):
        sys.exit("a rank of the benchmark of torch.distributed failed")
    return json.loads(outputs[0])
