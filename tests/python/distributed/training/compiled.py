"""torch.compile: collectives that are a part of the graph."""

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import _functional_collectives as collectives
from torch.nn.utils import parameters_to_vector

from .alone import alone
from .data_parallel import parallel
from .form import Losses, World, form
from .network import Network, adam, loss_of, shards


def import_compilers() -> None:
    """What torch imports as it compiles: by one process, which all ranks are forks of."""
    import torch._dynamo.backends.common
    import torch._inductor.pattern_matcher  # noqa: F401


def train_with(world: World, backend: str) -> Losses:
    """All ranks' mean of the gradients, as one tensor, is what is compiled."""

    @torch.compile(fullgraph=True, dynamic=False, backend=backend)
    def mean(gradients: Tensor) -> Tensor:
        return collectives.all_reduce(gradients, "sum", dist.group.WORLD) / world.size

    model = Network().to(world.device)
    optimizer = adam(model)
    parameters = list(model.parameters())
    losses = []
    for tokens, expected in shards(world.device, world.rank, world.size):
        loss = loss_of(model(tokens), expected)
        flat = mean(parameters_to_vector(torch.autograd.grad(loss, parameters)))
        parts = flat.split([parameter.numel() for parameter in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        optimizer.step()
        losses.append(loss.item())
    return losses


@form("compiled, gradients averaged in a graph", alone, any_runtime=True)
def in_a_graph(world: World) -> Losses:
    return train_with(world, "aot_eager")


@form(
    "compiled, gradients averaged in a graph of Inductor's",
    alone,
    slow=True,
    in_place=True,
    any_runtime=True,
)
def in_a_graph_of_inductor(world: World) -> Losses:
    return train_with(world, "inductor")


@form("compiled, ddp", alone, any_runtime=True)
def compiled_parallel(world: World) -> Losses:
    """Dynamo splits the graph where a bucket ends."""
    model = parallel(world, bucket_cap_mb=25)
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = adam(model)
    losses = []
    for tokens, expected in shards(world.device, world.rank, world.size):
        loss = loss_of(compiled(tokens), expected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@form("compiled, every functional collective", None, any_runtime=True)
def each(world: World) -> None:
    @torch.compile(fullgraph=True, backend="aot_eager")
    def everything(x: Tensor) -> list[Tensor]:
        group, even = dist.group.WORLD, [len(x) // world.size] * world.size
        return [
            collectives.all_reduce(x, "max", group),
            collectives.all_gather_tensor(x, 0, group),
            collectives.reduce_scatter_tensor(x, "sum", 0, group),
            collectives.all_to_all_single(x, even, even, group),
            collectives.broadcast(x, 1, group),
        ]

    def of(rank: int) -> Tensor:
        return torch.arange(4.0) + 10 * rank

    all_ranks = [of(rank) for rank in range(world.size)]
    part = slice(world.rank * 4 // world.size, (world.rank + 1) * 4 // world.size)
    expected = [
        of(world.size - 1),
        torch.cat(all_ranks),
        sum(all_ranks)[part],
        torch.cat([each[part] for each in all_ranks]),
        of(1),
    ]
    for found, right in zip(everything(of(world.rank).to(world.device)), expected, strict=True):
        assert found.device == world.device
        assert torch.equal(found.cpu(), right), (found, right)
