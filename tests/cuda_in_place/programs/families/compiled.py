"""What torch.compile makes: steps of training by Inductor, with graphs, with dropout, of several
sizes, with a compiled optimizer; and kernels that a program writes in Triton."""

from collections.abc import Callable, Iterator
from functools import partial

import gpt_step
import torch
import triton
import triton.language as tl
from torch import nn
from torch._inductor.runtime.triton_heuristics import CachingAutotuner


def units(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    CachingAutotuner.bench = lambda *_, **__: 1.0  # no choice by the clock: the first is the best
    for work in (
        function,
        step,
        gpt,
        optimizer_step,
        dropout,
        sizes,
        two_graphs,
        replayed,
        replayed_step,
        written_kernel,
        written_kernel_on_a_stream,
        compiled_kernel,
    ):
        yield work.__name__.replace("_", " "), partial(alone, work, device)


def alone(work: Callable[[str], object], device: str) -> object:
    """In one thread: one of autograd's may give memory back after backward() has returned, so that
    what is allocated next would go by the clock. What was compiled is forgotten at the end."""
    torch.manual_seed(0)
    try:
        with torch.autograd.set_multithreading_enabled(False):
            return work(device)
    finally:
        torch._dynamo.reset()


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 8))


def function(device: str) -> object:
    @torch.compile
    def layer(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(x * 2 + y).sum(1)

    x, y = (torch.ones(64, 256).to(device).requires_grad_() for _ in range(2))
    layer(x, y).sum().backward()
    return x, y


def trained(model: nn.Module, device: str, steps: int, **options: object) -> object:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    compiled = torch.compile(model, **options)
    x = torch.ones(16, 32).to(device)
    for _ in range(steps):
        compiled(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer, x


def step(device: str) -> object:
    return trained(network().to(device), device, 2)


def gpt(device: str) -> object:
    """bf16 under autocast, attention and the loss within."""
    model = gpt_step.GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    text = torch.randint(0, gpt_step.WORDS, (4, gpt_step.LENGTH)).to(device)

    @torch.compile(options={"force_shape_pad": True})  # else the clock tells which matrices
    def loss() -> torch.Tensor:
        with torch.autocast(device, dtype=torch.bfloat16):
            guessed = model(text[:, :-1])
        return nn.functional.cross_entropy(guessed.flatten(0, 1).float(), text[:, 1:].flatten())

    for _ in range(2):
        loss().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer, text


def optimizer_step(device: str) -> object:
    model = network().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
    next_step = torch.compile(optimizer.step)
    for _ in range(2):
        model(torch.ones(16, 32).to(device)).square().mean().backward()
        next_step()
        optimizer.zero_grad()
    return model, optimizer


def dropout(device: str) -> object:
    model = nn.Sequential(nn.Linear(32, 64), nn.Dropout(0.5), nn.Linear(64, 8))
    return trained(model.to(device), device, 2)


def sizes(device: str) -> object:
    model = network().to(device)
    compiled = torch.compile(model, dynamic=True)
    inputs = [torch.ones(size, 32).to(device) for size in (16, 24, 48)]
    return model, inputs, [compiled(x).square().mean().backward() for x in inputs]


def two_graphs(device: str) -> object:
    """A break between them."""

    @torch.compile
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = (x * 2).relu()
        torch._dynamo.graph_break()
        return (y + 1).sum()

    x = torch.ones(64, 64).to(device).requires_grad_()
    broken(x).backward()
    return x


def replayed(device: str) -> object:
    """CUDA graphs: a first call warms up, a second one captures, further ones replay."""
    model = network().to(device).requires_grad_(False)
    compiled = torch.compile(model, mode="reduce-overhead")
    x = torch.ones(16, 32).to(device)
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        compiled(x)
    return model, compiled, x


def replayed_step(device: str) -> object:
    return trained(network().to(device), device, 4, mode="reduce-overhead")


@triton.jit
def scaled_sum(x, y, to, factor, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = at < count
    value = tl.load(x + at, mask=here) * factor + tl.load(y + at, mask=here)
    tl.store(to + at, value, mask=here)


def launched(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    to = torch.empty_like(x)
    scaled_sum[(triton.cdiv(x.numel(), 256),)](x, y, to, 3.0, x.numel(), BLOCK=256)
    return to


def written_kernel(device: str) -> object:
    x, y = (torch.ones(1000).to(device) for _ in range(2))
    return x, y, launched(x, y) + launched(x[8:], y[8:]).sum()


def written_kernel_on_a_stream(device: str) -> object:
    """Of the second device."""
    module = torch.get_device_module(device)
    with module.device(1):
        x, side = torch.ones(1000, device=device), module.Stream()
        side.wait_stream(module.current_stream())
        with module.stream(side):
            result = launched(x, x)
    return x, side, result


def compiled_kernel(device: str) -> object:
    """Within what torch.compile compiles."""

    @torch.compile
    def around(x: torch.Tensor) -> torch.Tensor:
        return launched(x * 2, x + 1).relu()

    x = torch.ones(1000).to(device)
    return x, around(x)
