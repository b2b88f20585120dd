"""What a launch costs: the runtimes' own beside the driver's, and Python's above the runtime's."""

from __future__ import annotations

import itertools

import torch
from backend import Backend
from rows import Row, Section
from runtime import REPETITIONS, Times, programs, row_of, times_of
from timing import Code, alone, paired

LAUNCHES = 100  # between two waits, of the C++ programs
GRAPH_LAUNCHES = 1000


def sections(backend: Backend, seconds: float) -> list[Section]:
    folder = programs()
    if folder is None:
        return []
    module = folder / "libbench_host_module.so"
    rows = []
    host = times_of(folder / "bench_runtime_host", OUTBACK_BENCH_HOST_MODULE=str(module))
    bare = _each(host, "launch_100_and_wait/real_time")
    callback = _each(host, "call_100_and_wait/real_time")
    rows.append(row_of("host: launch a kernel", "enqueue a host function", bare, callback))
    opencl = folder / "bench_opencl"
    if opencl.exists():
        times = times_of(opencl)
        runtime = _each(times, "launch_100_and_wait_by_runtime/real_time")
        driver = _each(times, "launch_100_and_wait_by_driver/real_time")
        rows.append(row_of("OpenCL: launch a kernel", "the driver", runtime, driver, limit=1.2))
    if backend.is_host_runtime:
        rows += _from_python(backend, module.read_bytes(), bare, seconds)
    return [Section("launches", rows)]


def _each(times: Times, name: str) -> list[float]:
    return [ns / LAUNCHES for ns in times[name]]


def _from_python(backend: Backend, code: bytes, bare: list[float], seconds: float) -> list[Row]:
    kernel = backend.module.compile_kernel(code, "nothing")
    memory = torch.zeros(16, device=backend.device)
    values = {"kernel": kernel, "memory": memory}
    call = Code("kernel(1, 32, (memory, memory, 7, 0.5))", values, backend.settle)
    times = [alone(call, seconds / REPETITIONS).ns for _ in range(REPETITIONS)]
    above = [python - runtime for python, runtime in zip(times, bare, strict=True)]
    limited = row_of("host: from Python, above the runtime's", "5 µs", above, 5000.0, limit=1.0)

    graph = backend.module.CUDAGraph()
    with backend.module.graph(graph):
        for _ in itertools.repeat(None, GRAPH_LAUNCHES):
            kernel(1, 32, (memory, memory, 7, 0.5))
    replayed = Code("graph.replay()", {"graph": graph}, backend.settle)
    launched = Code(
        f"for _ in range({GRAPH_LAUNCHES}): kernel(1, 32, (memory, memory, 7, 0.5))",
        values,
        backend.settle,
    )
    name = f"host: replay a graph of {GRAPH_LAUNCHES} launches"
    return [limited, Row(name, "launch them from Python", paired(replayed, launched, seconds))]
