"""DistributedDataParallel in its forms, and optimizers whose state is spread over the ranks."""

from itertools import islice

import torch
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from .alone import JOINED, alone, joined, sent_as_half
from .form import Losses, World, form
from .network import BATCH, RATE, WIDTH, Network, adam, batches, loss_of, shards, train


def parallel(world: World, **options: object) -> DistributedDataParallel:
    # Small buckets: several collectives are under way in each backward.
    options = {"bucket_cap_mb": 0.02, **options}
    return DistributedDataParallel(Network().to(world.device), **options)


def mine(world: World):
    return shards(world.device, world.rank, world.size)


@form("ddp", alone)
def plain(world: World) -> Losses:
    model = parallel(world)
    return train(model, adam(model), mine(world))


@form("ddp, gradients as views of buckets", alone, any_runtime=True)
def views(world: World) -> Losses:
    model = parallel(world, gradient_as_bucket_view=True)
    return train(model, adam(model), mine(world))


@form("ddp, static graph", alone, any_runtime=True, needs_groups=True)
def static_graph(world: World) -> Losses:
    model = parallel(world, static_graph=True)
    return train(model, adam(model), mine(world))


@form("ddp, hook: allreduce", alone, any_runtime=True)
def allreduce_hook(world: World) -> Losses:
    model = parallel(world)
    model.register_comm_hook(None, default_hooks.allreduce_hook)
    return train(model, adam(model), mine(world))


@form("ddp, hook: fp16_compress", sent_as_half, tolerance=2e-4)
def fp16_compress_hook(world: World) -> Losses:
    model = parallel(world)
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    return train(model, adam(model), mine(world))


@form("ddp, hook: powerSGD", alone, tolerance=1e-5, any_runtime=True)
def power_hook(world: World) -> Losses:
    """Of full rank, so that what it sends is the whole gradient, in two factors. In one bucket: for
    several, the hook's second collectives have no order that all ranks keep."""
    model = parallel(world, bucket_cap_mb=25)
    state = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=2 * WIDTH, start_powerSGD_iter=2, min_compression_rate=0
    )
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    return train(model, adam(model), mine(world))


@form("ddp, join", joined, any_runtime=True)
def join(world: World) -> Losses:
    """The second rank's data end early."""
    model = parallel(world)
    data = mine(world) if world.rank == 0 else islice(mine(world), JOINED)
    with Join([model]):
        return train(model, adam(model), data)


@form("ddp, no_sync", alone, any_runtime=True)
def no_sync(world: World) -> Losses:
    """Each step has two backwards, and only the second one communicates."""
    model = parallel(world)
    optimizer = adam(model)
    losses = []
    for tokens, expected in mine(world):
        optimizer.zero_grad()
        parts = list(zip(tokens.chunk(2), expected.chunk(2), strict=True))
        with model.no_sync():
            first = loss_of(model(parts[0][0]), parts[0][1]) / 2
            first.backward()
        second = loss_of(model(parts[1][0]), parts[1][1]) / 2
        second.backward()
        optimizer.step()
        losses.append((first + second).item())
    return losses


class Branching(Network):
    """Every other call leaves out a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, tokens: Tensor) -> Tensor:
        self.calls += 1
        embedding, first, second, head = self
        return head(
            second(embedding(tokens)) if self.calls % 2 else second(first(embedding(tokens)))
        )


def branching_alone(device: torch.device) -> Losses:
    model = Branching().to(device)
    return train(model, adam(model), batches(device))


@form("ddp, unused parameters", branching_alone, any_runtime=True, needs_groups=True)
def unused_parameters(world: World) -> Losses:
    model = DistributedDataParallel(Branching().to(world.device), find_unused_parameters=True)
    return train(model, adam(model), mine(world))


@form("ZeroRedundancyOptimizer", alone)
def zero(world: World) -> Losses:
    model = parallel(world)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.AdamW, lr=RATE
    )
    return train(model, optimizer, mine(world))


# ---- Sparse gradients


def bag(device: torch.device) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.EmbeddingBag(64, 8, sparse=True), nn.Linear(8, 1)).to(device)


def bag_losses(model: nn.Module, rank: int, size: int, device: torch.device) -> Losses:
    generator = torch.Generator().manual_seed(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    losses = []
    for _ in range(50):
        words = torch.randint(64, (BATCH, 4), generator=generator)
        mine = words.chunk(size)[rank].to(device)
        loss = (model(mine) - mine.float().mean(1, keepdim=True) / 64).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@form("ddp, sparse embedding", lambda device: bag_losses(bag(device), 0, 1, device))
def sparse(world: World) -> Losses:
    model = DistributedDataParallel(bag(world.device))
    losses = bag_losses(model, world.rank, world.size, world.device)
    assert model.module[0].weight.grad.is_sparse
    return losses
