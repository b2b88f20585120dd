"""DistributedDataParallel and fully_shard in two processes: each loss is that of one process, which
trains on the CPU without communication. The device's operators compute on the CPU (computed.py);
what is communicated goes through NCCL's stand-in."""

import copy

import torch
import torch.distributed as dist
from computed import Computed, fetch
from ranks import device, init, rank, size
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

STEPS, WIDTH, ROWS = 4, 8, 6


def network() -> torch.nn.Module:
    torch.manual_seed(1)
    layers = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU()) for _ in range(3)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1))


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    make = torch.Generator().manual_seed(100 + step)
    x = torch.randn(ROWS, WIDTH, generator=make)
    return x, x.square().sum(1, keepdim=True)


def train(model: torch.nn.Module, here: torch.device, rows: slice) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=False)
    losses = []
    for step in range(STEPS):
        x, y = (each[rows].to(here) for each in batch(step))
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        if here.type != "cpu":
            dist.all_reduce(total, dist.ReduceOp.AVG)
            total = fetch(total)
        losses.append(total.item())
    return losses


def distributed(start: torch.nn.Module) -> torch.nn.Module:
    """Rank 1's own parameters are others: DistributedDataParallel sends rank 0's."""
    with torch.no_grad():
        for each in start.parameters():
            each.add_(rank)
    # Buckets so small that there are several, which overlap with the backward pass.
    return DistributedDataParallel(
        start.to(device), bucket_cap_mb=1e-4, gradient_as_bucket_view=True
    )


def sharded(start: torch.nn.Module) -> torch.nn.Module:
    mesh = dist.device_mesh.init_device_mesh(device.type, (size,))
    model = start.to(device)
    for layer in model:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


init(device_id=device)
start = network()
expected = train(copy.deepcopy(start), torch.device("cpu"), slice(None))
half = ROWS // size
for make in (distributed, sharded):
    with Computed():
        losses = train(make(copy.deepcopy(start)), device, slice(rank * half, (rank + 1) * half))
    difference = max(abs(a - b) / b for a, b in zip(losses, expected, strict=True))
    assert difference < 1e-5, (make.__name__, losses, expected)
    print(make.__name__, difference)
