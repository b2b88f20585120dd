"""torch.compile for a device whose memory the CPU cannot address, beside the CPU's: how long the
first step of a small GPT takes to compile, how many loops Inductor generates, and how many bytes
these touch."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

from backend import Backend
from rows import Row, Section
from timing import Measurement

RUNS = 3
LIMIT = 2.0  # of the time

_PROGRAM = """
import json, sys, time
import torch
import programs
from torch import nn
from torch._inductor import compile_fx, metrics
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V

touched = []
GraphLowering.save_output_code = staticmethod(lambda code: touched.append(V.graph.count_bytes()[0]))
torch.manual_seed(0)
net = programs.Gpt().to(sys.argv[1])
x = torch.randint(256, (8, 32), device=sys.argv[1])
y = torch.randint(10, (8,), device=sys.argv[1])
optimizer = torch.optim.AdamW(net.parameters())
compiled, update = torch.compile(net), torch.compile(optimizer.step)

def step():
    loss = nn.functional.cross_entropy(compiled(x), y)
    loss.backward()
    update()
    optimizer.zero_grad()
    return loss.item()

times = []
for _ in range(3):
    begun = time.perf_counter()
    step()
    times.append(time.perf_counter() - begun)
print(json.dumps([times[0] - times[2], metrics.generated_kernel_count, sum(touched)]))
"""


def sections(backend: Backend) -> list[Section]:
    """Nothing where code for the CPU runs in place."""
    if backend.is_in_place:
        return []
    ours, theirs = ([_run(device) for _ in range(RUNS)] for device in (backend.device, "cpu"))
    ratios = [a[0] / b[0] for a, b in zip(ours, theirs, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    seconds = (statistics.median(each[0] for each in runs) for runs in (ours, theirs))
    measured = Measurement(*(each * 1e9 for each in seconds), middle, low, high, RUNS)
    (_, loops, touched), (_, their_loops, their_touched) = ours[0], theirs[0]
    name = (
        f"the first step compiles: {loops} loops to the CPU's {their_loops}, "
        f"{touched / their_touched:.2f} of its bytes"
    )
    title = "torch.compile, a small GPT with AdamW, nothing cached"
    return [Section(title, [Row(name, "Inductor for the CPU", measured, limit=LIMIT)])]


def _run(device: object) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _PROGRAM, str(device)],
            env=environment,
            cwd=os.path.dirname(__file__),
            capture_output=True,
            text=True,
        )
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found
