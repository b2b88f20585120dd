"""The part that measures each of the runtime's calls beside the bare one of CUDA's."""

import json

from .. import console
from ..paths import ROOT
from .building import file_of
from .results import Outcome
from .work import Work

_RESULTS = ROOT / "bench/results"
_NOTE = (
    "The CUDA runtime's calls beside the bare ones of libcudart, in one run: medians of five "
    "repetitions. The ratios carry over to other machines, the times do not."
)


def bench(work: Work) -> Outcome:
    """Writes bench.md beside the log; --save puts it where the tree keeps figures."""
    out = work.folder / "bench_cuda.json"
    options = [f"--benchmark_out={out}", "--benchmark_out_format=json"]
    with console.step("bench"):
        program = file_of(work.folder, "bench_cuda")
        command = [program, *options, "--benchmark_repetitions=5", "--benchmark_min_time=0.1"]
        work.run(command, env=work.provisions.programs).check()
    document = json.loads(out.read_text())
    rows = rows_of(document["benchmarks"])
    table = "\n".join(table_of(rows))
    console.title(f"\n{table}")
    device, cuda = document["context"]["device"], document["context"]["cuda"]
    text = f"{_NOTE}\n\n{device}; CUDA {cuda}.\n\n{table}\n"
    work.log.with_suffix(".md").write_text(text)
    if work.request.save:
        (_RESULTS / f"cuda-{device.replace(' ', '-').lower()}.md").write_text(text)
    figures = {name: {"runtime_ns": ours, "cuda_ns": bare} for name, ours, bare in rows}
    return Outcome(f"{len(rows)} rows", figures)


def rows_of(benchmarks: list[dict]) -> list[tuple[str, float, float]]:
    """(what, nanoseconds through the runtime, nanoseconds bare), in the order of the program.

    The program has each twice, as x/runtime and x/cuda.
    """
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


def table_of(rows: list[tuple[str, float, float]]) -> list[str]:
    lines = ["| | runtime | CUDA | ratio |", "|---|---:|---:|---:|"]
    for name, ours, bare in rows:
        lines.append(f"| {name} | {ours:,.0f} ns | {bare:,.0f} ns | {ours / bare:.2f} |")
    return lines
