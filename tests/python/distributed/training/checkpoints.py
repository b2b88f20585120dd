"""torch.distributed.checkpoint: training goes on from what other processes saved, as if alone."""

from dataclasses import replace
from itertools import islice

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh

from .alone import alone
from .form import Losses, World, form
from .network import STEPS, adam, shards, train
from .sharded import sharded

HALF = STEPS // 2


def fresh(world: World) -> tuple[nn.Module, torch.optim.Optimizer]:
    model = sharded(init_device_mesh(world.device.type, (world.size,)), world.device)
    return model, adam(model)


def state_of(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, dict]:
    return dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))


def loaded(world: World, name: str) -> tuple[nn.Module, torch.optim.Optimizer]:
    model, optimizer = fresh(world)
    for parameter in model.parameters():
        nn.init.zeros_(parameter)  # so that what is right afterwards comes from the checkpoint
    state = state_of(model, optimizer)
    checkpoint.load(state, checkpoint_id=world.folder / name)
    set_state_dict(
        model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    return model, optimizer


def trained(world: World, model, optimizer, first: int, last: int) -> Losses:
    """All ranks' mean at each of these steps."""
    data = islice(shards(world.device, world.rank, world.size), first, last)
    losses = torch.tensor(train(model, optimizer, data))
    dist.all_reduce(losses)
    return (losses / world.size).tolist()


@form("checkpoint, saved and loaded", alone, any_runtime=True)
def saved(world: World) -> Losses:
    model, optimizer = fresh(world)
    losses = trained(world, model, optimizer, 0, HALF)
    checkpoint.save(state_of(model, optimizer), checkpoint_id=world.folder / "saved")
    return losses + trained(world, *loaded(world, "saved"), HALF, STEPS)


@form("checkpoint, saved while training goes on", alone)
def saved_asynchronously(world: World) -> Losses:
    model, optimizer = fresh(world)
    losses = trained(world, model, optimizer, 0, HALF)
    saving = checkpoint.async_save(
        state_of(model, optimizer),
        checkpoint_id=world.folder / "saved_asynchronously",
        process_group=dist.new_group(),  # its collectives have no order with the training's
    )
    trained(world, model, optimizer, HALF, STEPS)  # which the checkpoint must not see
    saving.result()
    return losses + trained(world, *loaded(world, "saved_asynchronously"), HALF, STEPS)


@form("checkpoint, saved on 4, loaded on 2, saved there, loaded on 3", alone, processes=4)
def resharded(world: World) -> Losses:
    losses: Losses = []
    for size, first, last in ((4, 0, 20), (2, 20, 35), (3, 35, STEPS)):
        dist.barrier()
        dist.destroy_process_group()
        # A rank that has no part in it goes through it by itself, and is back for the next one.
        fewer = replace(world, size=size)
        if world.rank < size:
            fewer.begin(f"resharded on {size}")
            model, optimizer = loaded(fewer, f"at {first}") if first else fresh(fewer)
            losses += trained(fewer, model, optimizer, first, last)
            checkpoint.save(state_of(model, optimizer), checkpoint_id=world.folder / f"at {last}")
            dist.destroy_process_group()
        world.begin(f"resharded, after {size}")
    return losses if world.rank < 2 else None
