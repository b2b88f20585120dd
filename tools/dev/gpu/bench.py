"""The part that measures each of the runtime's calls beside the bare one of CUDA's."""

import json

from ..paths import ROOT
from .work import Work

_RESULTS = ROOT / "bench/results"
_NOTE = (
    "The CUDA runtime's calls beside the bare ones of libcudart, in one run: medians of five "
    "repetitions. The ratios carry over to other machines, the times do not."
)


def bench(work: Work) -> str:
    """Writes bench.md beside the log; --save puts it where the tree keeps figures."""
    out = work.folder / "bench_cuda.json"
    options = [f"--benchmark_out={out}", "--benchmark_out_format=json"]
    options += ["--benchmark_repetitions=5", "--benchmark_min_time=0.1"]
    work.run(work.folder / "bench/bench_cuda", *options)
    document = json.loads(out.read_text())
    table = table_of(document["benchmarks"])
    device, cuda = document["context"]["device"], document["context"]["cuda"]
    text = "\n".join([_NOTE, "", f"{device}; CUDA {cuda}.", "", *table, ""])
    work.log.with_suffix(".md").write_text(text)
    if work.request.save:
        (_RESULTS / f"cuda-{device.replace(' ', '-').lower()}.md").write_text(text)
    return f"{len(table) - 2} rows"


def table_of(benchmarks: list[dict]) -> list[str]:
    """The medians through the runtime and bare, which the program calls x/runtime and x/cuda."""
    medians = {
        each["run_name"]: each["real_time"]
        for each in benchmarks
        if each.get("aggregate_name") == "median"
    }
    lines = ["| | runtime | CUDA | ratio |", "|---|---:|---:|---:|"]
    for name, ours in medians.items():
        if "/runtime" in name:
            bare = medians[name.replace("/runtime", "/cuda")]
            what = name.replace("/runtime", "").replace("/real_time", "")
            lines.append(f"| {what} | {ours:,.0f} ns | {bare:,.0f} ns | {ours / bare:.2f} |")
    return lines
