"""Layers that are split over the ranks: tensor parallel, sequence parallel, both dimensions."""

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from .alone import alone
from .form import Losses, World, form
from .network import RATE, Network, batches, shards, train


def adam(model: nn.Module) -> torch.optim.Optimizer:
    # One by one: some parameters are DTensors, and others are not.
    return torch.optim.AdamW(model.parameters(), lr=RATE, foreach=False)


def by_heads_and_columns(mesh: DeviceMesh, device: torch.device) -> nn.Module:
    plan = {"0": RowwiseParallel(input_layouts=Replicate())}
    for layer in ("1", "2"):
        plan |= {
            f"{layer}.attention.{name}": ColwiseParallel() for name in ("query", "key", "value")
        }
        plan |= {
            f"{layer}.attention.out": RowwiseParallel(),
            f"{layer}.wide": ColwiseParallel(),
            f"{layer}.narrow": RowwiseParallel(),
        }
    plan["3"] = ColwiseParallel(output_layouts=Replicate())
    return parallelize_module(Network().to(device), mesh, plan)


def by_places_too(mesh: DeviceMesh, device: torch.device) -> nn.Module:
    """Between the layers, each rank has some places of every sequence."""
    plan = {"0": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))}
    for layer in ("1", "2"):
        plan |= {
            f"{layer}.attention.{name}": ColwiseParallel() for name in ("query", "key", "value")
        }
        plan |= {
            f"{layer}.before_attention": SequenceParallel(),
            f"{layer}.attention": PrepareModuleInput(
                input_layouts=Shard(1), desired_input_layouts=Replicate()
            ),
            f"{layer}.attention.out": RowwiseParallel(output_layouts=Shard(1)),
            f"{layer}.before_wide": SequenceParallel(),
            f"{layer}.wide": ColwiseParallel(input_layouts=Shard(1)),
            f"{layer}.narrow": RowwiseParallel(output_layouts=Shard(1)),
        }
    plan["3"] = ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())
    return parallelize_module(Network().to(device), mesh, plan)


@form("tensor parallel", alone)
def tensor_parallel(world: World) -> Losses:
    mesh = init_device_mesh(world.device.type, (world.size,))
    model = by_heads_and_columns(mesh, world.device)
    return train(model, adam(model), batches(world.device))


@form("sequence parallel", alone, any_runtime=True)
def sequence_parallel(world: World) -> Losses:
    mesh = init_device_mesh(world.device.type, (world.size,))
    model = by_places_too(mesh, world.device)
    # All are DTensors, in lists: what one costs is by the call.
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, foreach=True)
    return train(model, optimizer, batches(world.device))


@form("tensor parallel in fsdp2, 2 x 2", alone, processes=4)
def both(world: World) -> Losses:
    mesh = init_device_mesh(world.device.type, (2, 2), mesh_dim_names=("data", "heads"))
    model = by_heads_and_columns(mesh["heads"], world.device)
    for layer in list(model)[1:3]:
        fully_shard(layer, mesh=mesh["data"])
    fully_shard(model, mesh=mesh["data"])
    return train(model, adam(model), shards(world.device, mesh.get_local_rank("data"), 2))
