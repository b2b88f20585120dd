"""One rank of the benchmark of torch.distributed. Rank 0 prints what was measured, as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import statistics
import time
from collections.abc import Callable
from datetime import timedelta

import timing
import torch
import torch.distributed as dist
from programs import Gpt
from timing import Measurement
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

HALF_ROUND = 0.005  # seconds, of one side of a round
MAX_ROUNDS = 301
SIZES = {"16 bytes": 16, "4 KiB": 4 << 10, "64 KiB": 64 << 10}
SIZES |= {f"{count} MiB": count << 20 for count in (1, 4, 16, 64)}
BUCKETS = 4
BATCH = 8
CPU = torch.device("cpu")

Run = Callable[[], object]


class Measuring:
    """As timing.paired, but that all ranks take as many rounds: those that rank 0 has time for."""

    def __init__(self, device: torch.device, seconds: float) -> None:
        self._settle = getattr(torch, device.type).synchronize
        self._seconds = seconds

    def paired(self, subject: Run, reference: Run) -> Measurement:
        sides = [subject, reference]
        took = [self._agreed(self._timed(side, 3)) for side in sides for _ in range(2)][1::2]
        counts = [max(1, int(HALF_ROUND / each)) for each in took]
        round_seconds = sum(count * each for count, each in zip(counts, took, strict=True))
        rounds = max(timing.MIN_ROUNDS, min(MAX_ROUNDS, int(self._seconds / round_seconds)))
        times: list[list[float]] = [[], []]
        for turn in range(rounds):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                times[side].append(self._timed(sides[side], counts[side]))
        low, middle, high = statistics.quantiles([a / b for a, b in zip(*times, strict=True)], n=4)
        medians = [statistics.median(each) * 1e9 for each in times]
        return Measurement(*medians, middle, low, high, rounds)

    def seconds_of(self, run: Run) -> float:
        return self._agreed(statistics.median(self._timed(run, 1) for _ in range(5)))

    def _timed(self, run: Run, count: int) -> float:
        dist.barrier()
        start = time.perf_counter()
        for _ in range(count):
            run()
        self._settle()
        return (time.perf_counter() - start) / count

    def _agreed(self, seconds: float) -> float:
        """What rank 0 has."""
        value = torch.tensor([seconds], dtype=torch.float64)
        dist.broadcast(value, 0)
        return value.item()


class Step:
    """A training step of the small GPT on this rank's part of the batch."""

    def __init__(self, device: torch.device, parallel: Callable[[nn.Module], nn.Module]) -> None:
        torch.manual_seed(0)
        self._model = parallel(Gpt().to(device))
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=1e-3)
        self._tokens = torch.randint(256, (BATCH, 32)).to(device)
        self._labels = torch.randint(10, (BATCH,)).to(device)

    def __call__(self) -> None:
        self._optimizer.zero_grad()
        nn.functional.cross_entropy(self._model(self._tokens), self._labels).backward()
        self._optimizer.step()


def _sharded(device: torch.device) -> Callable[[nn.Module], nn.Module]:
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))

    def shard(model: Gpt) -> nn.Module:
        for layer in model.layers.layers:
            fully_shard(layer, mesh=mesh)
        return fully_shard(model, mesh=mesh)

    return shard


def _reducing(device: torch.device, size: int) -> Run:
    tensor = torch.zeros(size // 4, device=device)
    return lambda: dist.all_reduce(tensor)


class Buckets:
    """A step whose backward makes the buckets one after the other. What the device computes for one
    is a timed wait on its stream, which takes no core of the CPU."""

    def __init__(self, device: torch.device, size: int, nanoseconds: int) -> None:
        self._module = getattr(torch, device.type)
        self._buckets = [torch.zeros(size // 4, device=device) for _ in range(BUCKETS)]
        self._nanoseconds = nanoseconds

    def overlapping(self) -> None:
        works = []
        for bucket in self._buckets:
            self._module._sleep(self._nanoseconds)
            works.append(dist.all_reduce(bucket, async_op=True))
        for work in works:
            work.wait()
        self._module.synchronize()

    def one_by_one(self) -> None:
        for bucket in self._buckets:
            self._module._sleep(self._nanoseconds)
            self._module.synchronize()
            dist.all_reduce(bucket)
            self._module.synchronize()


def _has_timed_waits(device: torch.device) -> bool:
    """A runtime without the group `callbacks` has none."""
    try:
        getattr(torch, device.type)._sleep(0)
    except NotImplementedError:
        return False
    return True


def measure(
    device: torch.device, mebibytes: int, seconds: float
) -> list[tuple[str, str, Measurement]]:
    measuring = Measuring(device, seconds)
    cpu = "Gloo, CPU tensors"
    rows = [
        (
            f"all_reduce, {name}",
            cpu,
            measuring.paired(_reducing(device, size), _reducing(CPU, size)),
        )
        for name, size in SIZES.items()
        if size <= mebibytes << 20
    ]
    for name, parallel in (
        ("DDP", lambda device: DistributedDataParallel),
        ("FSDP2", _sharded),
    ):
        here, there = (Step(each, parallel(each)) for each in (device, CPU))
        rows.append((f"{name} step of a small GPT", cpu, measuring.paired(here, there)))
    if not _has_timed_waits(device):
        return rows
    size = (mebibytes << 20) // BUCKETS
    nanoseconds = int(measuring.seconds_of(_reducing(device, size)) * 1e9)
    buckets = Buckets(device, size, nanoseconds)
    measured = measuring.paired(buckets.overlapping, buckets.one_by_one)
    rows.append((f"a step of {BUCKETS} buckets", "its parts one by one", measured))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("package", "device", "store"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("rank", "ranks", "mebibytes", "rounds"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    importlib.import_module(options.package)
    torch.set_num_threads(1)
    timing.set_min_rounds(options.rounds)
    device = torch.device(options.device, 0)
    dist.init_process_group(
        rank=options.rank,
        world_size=options.ranks,
        store=dist.FileStore(options.store, options.ranks),
        timeout=timedelta(minutes=5),
        device_id=device,
    )
    rows = measure(device, options.mebibytes, options.seconds)
    dist.destroy_process_group()
    if options.rank == 0:
        print(json.dumps([(*names, dataclasses.asdict(found)) for *names, found in rows]))


if __name__ == "__main__":
    main()
