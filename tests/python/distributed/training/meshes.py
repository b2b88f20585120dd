"""A mesh of two dimensions, which splits the default group."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from .form import World, form


@form("a mesh of two dimensions in a later default group", None)
def parts(world: World) -> None:
    dist.destroy_process_group()
    world.begin("later")
    mesh = init_device_mesh(world.device.type, (1, world.size), mesh_dim_names=("one", "all"))
    for name, expected in (("one", 1 + world.rank), ("all", sum(range(1, world.size + 1)))):
        for device in (world.device, "cpu"):
            x = torch.tensor([1.0 + world.rank], device=device)
            dist.all_reduce(x, group=mesh.get_group(name))
            assert x.item() == expected, (name, device)
