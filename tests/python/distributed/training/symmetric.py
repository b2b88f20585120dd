"""Symmetric memory: refused, since each rank would have to reach the memory of the others."""

import torch
import torch.distributed as dist
from torch.distributed import _symmetric_memory as symmetric

from .form import World, form


@form("symmetric memory is refused", None, any_runtime=True)
def refused(world: World) -> None:
    group = dist.group.WORLD.group_name
    for attempt in (
        lambda: symmetric.empty(4, device=world.device),
        lambda: symmetric.rendezvous(torch.empty(4, device=world.device), group),
    ):
        try:
            attempt()
        except RuntimeError as error:
            assert f"SymmetricMemory does not support device type {world.device.type}" in str(error)
        else:
            raise AssertionError("symmetric memory is not refused")
