"""Fully sharded: FSDP in both of PyTorch's forms, and with a copy for each pair of ranks."""

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    ShardingStrategy,
    fully_shard,
)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

from .alone import alone, in_bfloat16
from .form import Losses, World, form
from .network import RATE, Layer, Network, adam, shards, train


def sharded(mesh: DeviceMesh, device: torch.device, **policies: object) -> nn.Module:
    model = Network().to(device)
    for layer in list(model)[1:3]:
        fully_shard(layer, mesh=mesh, **policies)
    return fully_shard(model, mesh=mesh, **policies)


def line(world: World) -> DeviceMesh:
    return init_device_mesh(world.device.type, (world.size,))


def mine(world: World):
    return shards(world.device, world.rank, world.size)


@form("fsdp1", alone)
def wrapped(world: World) -> Losses:
    model = FullyShardedDataParallel(
        Network().to(world.device),
        device_id=world.device,
        auto_wrap_policy=ModuleWrapPolicy({Layer}),
    )
    return train(model, adam(model), mine(world))


@form("fsdp2", alone)
def plain(world: World) -> Losses:
    model = sharded(line(world), world.device)
    return train(model, adam(model), mine(world))


@form("fsdp2, parameters offloaded to the CPU", alone)
def offloaded(world: World) -> Losses:
    model = sharded(line(world), torch.device("cpu"), offload_policy=CPUOffloadPolicy())
    # In lists, as adam() does on the device: on the CPU AdamW takes them one by one by itself, and
    # what a DTensor costs is by the call.
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, foreach=True)
    losses = train(model, optimizer, mine(world))
    assert {parameter.device.type for parameter in model.parameters()} == {"cpu"}
    return losses


@form("fsdp2, mixed precision", in_bfloat16, tolerance=1e-3)
def mixed(world: World) -> Losses:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = sharded(line(world), world.device, mp_policy=policy)
    return train(model, adam(model), mine(world))


@form("hsdp, 2 x 2", alone, processes=4)
def hybrid(world: World) -> Losses:
    mesh = init_device_mesh(world.device.type, (2, 2), mesh_dim_names=("copies", "shards"))
    model = sharded(mesh, world.device)
    return train(model, adam(model), mine(world))


@form("hsdp of fsdp1, 2 x 2", alone, processes=4)
def hybrid_wrapped(world: World) -> Losses:
    mesh = init_device_mesh(world.device.type, (2, 2), mesh_dim_names=("copies", "shards"))
    model = FullyShardedDataParallel(
        Network().to(world.device),
        device_id=world.device,
        device_mesh=mesh,
        sharding_strategy=ShardingStrategy.HYBRID_SHARD,
        auto_wrap_policy=ModuleWrapPolicy({Layer}),
    )
    return train(model, adam(model), mine(world))
