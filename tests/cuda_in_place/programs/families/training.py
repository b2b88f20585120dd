"""Whole programs: the demo's network, a GPT with bf16 autocast, a scaled half-precision step,
checkpoints, streams beside each other, a batch in parts."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import gpt_step
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.append(str(Path(__file__).parents[4] / "examples" / "train_digits"))


def units(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    for work in (demo, gpt, half_precision, checkpointed, clipped, side_streams, parts_of_a_batch):
        yield work.__name__.replace("_", " "), partial(work, device)


def demo(device: str) -> object:
    """The network of examples/train_digits, without cuDNN."""
    import digits

    torch.manual_seed(0)
    model = digits.network().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    images, labels = torch.rand(32, 1, 8, 8).to(device), torch.arange(32).remainder(10).to(device)
    for _ in range(2):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.inference_mode():
        return model, optimizer, model(images).argmax(1)


def gpt(device: str) -> object:
    return gpt_step.train(device, 2)


def half_precision(device: str) -> object:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler(device)
    x = torch.ones(16, 32).to(device)
    for _ in range(2):
        with torch.autocast(device, dtype=torch.float16):
            loss = model(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return model, optimizer, scaler


def checkpointed(device: str) -> object:
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Linear(32, 32), nn.Dropout(0.5), nn.GELU()).to(device)
    x = torch.ones(16, 32).to(device).requires_grad_()
    for reentrant in (False, True):
        checkpoint(layer, x, use_reentrant=reentrant).sum().backward()
    return layer, x


def clipped(device: str) -> object:
    torch.manual_seed(0)
    model = nn.LSTM(16, 32, num_layers=2, bidirectional=True).to(device)
    out, _ = model(torch.ones(8, 4, 16).to(device))
    out.sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return model, out


def side_streams(device: str) -> object:
    module = torch.get_device_module(device)
    side, done = module.Stream(), module.Event()
    source = torch.ones(1 << 16, pin_memory=True)
    x = source.to(device, non_blocking=True).requires_grad_()
    with module.stream(side):
        side.wait_stream(module.current_stream())
        y = (x * 2).relu()
        y.record_stream(side)
        done.record(side)
    done.wait(module.current_stream())
    y.sum().backward()
    host = torch.empty(1 << 16, pin_memory=True).copy_(x.grad, non_blocking=True)
    module.synchronize()
    return source, x, y, host


def parts_of_a_batch(device: str) -> object:
    """What SyncBatchNorm calls, with the statistics of two processes' parts."""
    found = []
    for dtype, memory_format in (
        (torch.float32, torch.contiguous_format),
        (torch.float16, torch.channels_last),
    ):
        x = torch.ones(4, 8, 5, 3).to(device, dtype, memory_format=memory_format)
        weight, bias = torch.ones(2, 8, device=device)
        running = torch.zeros(8, device=device), torch.ones(8, device=device)
        parts = torch.batch_norm_stats(x, 1e-5), torch.batch_norm_stats(x, 1e-5)
        means, invstds = (torch.stack(each) for each in zip(*parts, strict=True))
        counts = torch.full((2,), 60.0, device=device)
        mean, invstd = torch.batch_norm_gather_stats_with_counts(
            x, means, invstds, *running, 0.1, 1e-5, counts
        )
        result = torch.batch_norm_elemt(x, weight, bias, mean, invstd, 1e-5)
        total, product, *gradients = torch.batch_norm_backward_reduce(
            result, x, mean, invstd, weight, True, True, True
        )
        gradients.append(
            torch.batch_norm_backward_elemt(
                result, x, mean, invstd, weight, total, product, counts.int()
            )
        )
        found += [running, result, gradients]
    return found
