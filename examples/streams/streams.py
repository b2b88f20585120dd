"""Copies batches to the device while it computes on the ones before, and writes when each was done.

python streams.py trace.json    # for chrome://tracing, ui.perfetto.dev and picture.py
"""

from __future__ import annotations

import functools
import sys

import torch
from timeline import Piece, Timeline, duration, overlap, write_chrome_trace
from torch import Tensor
from torch.acme import Event, Stream

BATCHES, SIZE, ROUNDS = 8, 2048, 5  # batches of 2048 x 2048 floats, 16 MiB


def compute(batch: Tensor, result: Tensor) -> Tensor:
    weight = torch.ones(SIZE, 32, device=batch.device) / SIZE
    return result.copy_(torch.relu(batch @ weight).sum())


def run(batches: list[Tensor], copying: Stream) -> tuple[list[float], list[Piece]]:
    """All batches by way of two buffers: copies on `copying`, the rest on the current stream."""
    computing = torch.acme.current_stream()
    buffers = [torch.empty(SIZE, SIZE, device="acme") for _ in range(2)]
    results = torch.zeros(len(batches), device="acme")
    copied, computed = [Event() for _ in batches], [Event() for _ in batches]
    timeline = Timeline()
    lane = "current stream" if copying == computing else "copy stream"

    def copy(i: int) -> None:
        buffer = buffers[i % 2]
        with torch.acme.stream(copying):
            if i >= 2:
                copying.wait_event(computed[i - 2])  # which read this buffer
            work = functools.partial(buffer.copy_, batches[i], non_blocking=True)
            timeline.run("copy", f"copy {i}", lane, work)
            copied[i].record()

    copy(0)
    for i in range(len(batches)):
        if i + 1 < len(batches):
            copy(i + 1)
        computing.wait_event(copied[i])
        work = functools.partial(compute, buffers[i % 2], results[i])
        timeline.run("compute", f"compute {i}", "current stream", work)
        computed[i].record()
    return results.tolist(), timeline.pieces()


def main() -> None:
    torch.set_num_threads(1)  # another core is the copies'
    generator = torch.Generator().manual_seed(0)
    batches = [torch.rand(SIZE, SIZE, generator=generator).pin_memory() for _ in range(BATCHES)]
    expected = [compute(batch, torch.empty(())).item() for batch in batches]

    streams = {"one stream": torch.acme.current_stream(), "two streams": Stream()}
    fastest: dict[str, list[Piece]] = {}
    equal = True
    for _ in range(ROUNDS):  # of which the first touches new memory, and the machine has more to do
        for title, copying in streams.items():
            results, pieces = run(batches, copying)
            equal = equal and results == expected
            fastest[title] = min(fastest.get(title, pieces), pieces, key=duration)
    print(f"{BATCHES} batches by way of two buffers, the fastest of {ROUNDS} rounds:")
    for title, pieces in fastest.items():
        print(f"{title}: {duration(pieces):.1f} ms, ", end="")
        print(f"{overlap(pieces):.0%} of the copies' time is computing time too")
    print("results as on the CPU:", equal)
    write_chrome_trace(sys.argv[1], fastest)


if __name__ == "__main__":
    main()
