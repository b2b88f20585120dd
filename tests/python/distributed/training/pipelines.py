"""Pipelines: each rank has some of the layers, and activations go from rank to rank."""

import torch
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.pipelining.schedules import Schedule1F1B, ScheduleInterleaved1F1B

from .alone import alone
from .form import Losses, World, form
from .network import RATE, Network, batches, loss_of

MICROBATCHES = 4


def stages(world: World, count: int) -> list[PipelineStage]:
    """This rank's, of `count`: every world.size-th one."""
    parts = list(Network().to(world.device))
    each = len(parts) // count
    return [
        PipelineStage(
            nn.Sequential(*parts[i * each : (i + 1) * each]), i, count, device=world.device
        )
        for i in range(world.rank, count, world.size)
    ]


def train(world: World, schedule, mine: list[PipelineStage]) -> Losses | None:
    """Only the last rank has the last stage, and sees the loss."""
    parameters = [parameter for stage in mine for parameter in stage.submod.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=RATE)
    losses = []
    for tokens, expected in batches(world.device):
        optimizer.zero_grad()
        inputs = (tokens,) if world.rank == 0 else ()
        if world.rank == world.size - 1:
            parts: list[torch.Tensor] = []
            schedule.step(*inputs, target=expected, losses=parts)
            losses.append(torch.stack(parts).mean().item())
        else:
            schedule.step(*inputs)
        optimizer.step()
    return losses or None


@form("pipeline, GPipe", alone, any_runtime=True)
def gpipe(world: World) -> Losses | None:
    mine = stages(world, world.size)
    return train(world, ScheduleGPipe(mine[0], MICROBATCHES, loss_fn=loss_of), mine)


@form("pipeline, 1F1B", alone)
def one_forward_one_backward(world: World) -> Losses | None:
    mine = stages(world, world.size)
    return train(world, Schedule1F1B(mine[0], MICROBATCHES, loss_fn=loss_of), mine)


@form("pipeline, interleaved 1F1B", alone, any_runtime=True)
def interleaved(world: World) -> Losses | None:
    mine = stages(world, 2 * world.size)
    return train(world, ScheduleInterleaved1F1B(mine, MICROBATCHES, loss_fn=loss_of), mine)
