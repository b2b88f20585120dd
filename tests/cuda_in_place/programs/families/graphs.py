"""Graphs: captured, replayed, in one pool; of layers; with random numbers; of callables."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import nn


def units(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    for work in (elementwise, two_in_one_pool, random_numbers, training_step, callables, streams):
        yield work.__name__.replace("_", " "), partial(work, device)


def captured(device: str, work: Callable[[], object], **options: object) -> tuple[object, object]:
    module = torch.get_device_module(device)
    graph = module.CUDAGraph()
    with module.graph(graph, **options):
        result = work()
    graph.replay()
    graph.replay()
    module.synchronize()
    return graph, result


def elementwise(device: str) -> object:
    x = torch.ones(64, 64).to(device)
    return captured(device, lambda: (x @ x + 1).relu_().sum(0)), x


def two_in_one_pool(device: str) -> object:
    x = torch.ones(64, 64).to(device)
    first = captured(device, lambda: x + 1)
    second = captured(device, lambda: first[1] * 2, pool=first[0].pool())
    return first, second


def random_numbers(device: str) -> object:
    x = torch.ones(64, 64).to(device)
    torch.manual_seed(0)
    return captured(device, lambda: nn.functional.dropout(x) + torch.rand_like(x))


def training_step(device: str) -> object:
    module = torch.get_device_module(device)
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8)).to(device)
    optimizer = torch.optim.AdamW(layers.parameters(), lr=1e-3, capturable=True)
    x = torch.ones(16, 32).to(device)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = layers(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    side = module.Stream()
    side.wait_stream(module.current_stream())
    with module.stream(side):
        for _ in range(3):
            step()
    module.current_stream().wait_stream(side)
    return captured(device, step), layers, optimizer


def callables(device: str) -> object:
    module = torch.get_device_module(device)
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).to(device)
    x = torch.ones(16, 32).to(device).requires_grad_()
    # In this thread: one of autograd's may give memory back after backward() has returned, so that
    # what is allocated next goes by the clock.
    with torch.autograd.set_multithreading_enabled(False):
        graphed = module.make_graphed_callables(layers, (x,))
        graphed(x).sum().backward()
    return graphed, x


def streams(device: str) -> object:
    """Work of two streams in one graph."""
    module = torch.get_device_module(device)
    x, side = torch.ones(64).to(device), module.Stream()

    def work() -> torch.Tensor:
        side.wait_stream(module.current_stream())
        with module.stream(side):
            y = x * 2
        z = x + 1
        module.current_stream().wait_stream(side)
        return y + z

    return captured(device, work), x
