"""What importing the backend adds to importing torch, in fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from backend import Backend
from rows import Row, Section
from timing import Measurement

_PROGRAM = """
import time
start = time.perf_counter()
import torch
middle = time.perf_counter()
import {package}
print(middle - start, time.perf_counter() - middle)
"""


def sections(backend: Backend, processes: int) -> list[Section]:
    # Without autoload, or `import torch` would bring the backend along. With bytecode, which pip
    # makes too.
    settings = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONDONTWRITEBYTECODE": ""}
    environment = os.environ | settings
    program = [sys.executable, "-c", _PROGRAM.format(package=backend.package)]
    times = []
    for _ in range(processes + 1):
        done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
        times.append([float(seconds) for seconds in done.stdout.split()])
    del times[0]  # reads the files from disk
    torch, package = zip(*times, strict=True)
    ratios = [(t + p) / t for t, p in times]
    low, middle, high = statistics.quantiles(ratios, n=4)
    measured = Measurement(
        statistics.median(package) * 1e9,
        statistics.median(torch) * 1e9,
        middle,
        low,
        high,
        processes,
    )
    # 30 ms, where importing torch takes 750.
    row = Row(f"import {backend.package} after torch", "import torch", measured, limit=1.04)
    return [Section("start, where the ratio is that of both imports to torch's alone", [row])]
