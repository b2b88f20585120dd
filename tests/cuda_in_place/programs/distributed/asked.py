"""Two training steps each of DistributedDataParallel and fully_shard, for the record of what they
ask of the device: of acme over NCCL, or of torch.cuda with its own NCCL."""

import os
import sys

import torch
import torch.distributed as dist
from ranks import device, init, size
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

WIDTH = 256


def network() -> torch.nn.Module:
    layers = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU()) for _ in range(2)]
    return torch.nn.Sequential(*layers).to(device)


def step(model: torch.nn.Module) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        model(torch.ones(4, WIDTH).to(device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


init(*os.environ.get("BACKEND", "").split(), device_id=device)
if sys.argv[1:] == ["ddp"]:
    step(DistributedDataParallel(network(), bucket_cap_mb=0.3))
else:
    model = network()
    mesh = dist.device_mesh.init_device_mesh(device.type, (size,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    step(fully_shard(model, mesh=mesh))
