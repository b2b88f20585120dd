"""A device beside PyTorch's own for the same hardware, whose kernels run in its memory: acme beside
cuda. Rows of device work have a device to themselves or say nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import operators
import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired
from torch import Tensor, nn

OPERATORS_LIMIT = 1.20  # of the geometric mean, for operators that cost the host alone
KERNELS_LIMIT, STEP_LIMIT, COMPILED_LIMIT, COPIES_LIMIT, CALLS_LIMIT = 1.01, 1.02, 1.05, 1.02, 1.2
COPIED = 1 << 30  # bytes


class Gpt(nn.Module):
    """GPT-2's smallest: 12 layers of 768 over 1,024 tokens, 124 million parameters."""

    WORDS, TOKENS, WIDTH, HEADS, LAYERS = 50304, 1024, 768, 12, 12

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(self.WORDS, self.WIDTH)
        self.places = nn.Embedding(self.TOKENS, self.WIDTH)
        self.layers = nn.ModuleList(Layer(self.WIDTH, self.HEADS) for _ in range(self.LAYERS))
        self.norm = nn.LayerNorm(self.WIDTH)
        self.head = nn.Linear(self.WIDTH, self.WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places.weight
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for each in self.qkv(self.norm(x)).chunk(3, -1)
        )
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.mlp(x)


class GptStep:
    """A training step in bfloat16 under autocast, AdamW fused. Returns the loss."""

    BATCH = 8

    def __init__(self, device: torch.device, compiled: bool = False):
        torch.manual_seed(0)
        self._kind = device.type
        self._model = Gpt().to(device)
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=3e-4, fused=True)
        self._tokens = torch.randint(Gpt.WORDS, (self.BATCH, Gpt.TOKENS + 1)).to(device)
        self._loss = torch.compile(self._loss_of) if compiled else self._loss_of

    def _loss_of(self, tokens: Tensor) -> Tensor:
        with torch.autocast(self._kind, torch.bfloat16):
            logits = self._model(tokens[:, :-1])
        return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    def __call__(self) -> Tensor:
        loss = self._loss(self._tokens)
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad()
        return loss.detach()


class StepElsewhere:
    """The step in a process of its own (twin_step.py), which is told how often and answers with the
    seconds that it took. One of the two processes waits while the other works."""

    def __init__(self, device: torch.device, compiled: bool):
        script = Path(__file__).with_name("twin_step.py")
        form = "compiled" if compiled else "eager"
        self._process = subprocess.Popen(
            [sys.executable, script, f"{device}", form],
            env={**os.environ, "OUTBACK_AUTOLOAD": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> StepElsewhere:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # the end of its input ends it

    def compiled(self) -> Callable[[int], float]:
        return self._seconds

    def _seconds(self, count: int) -> float:
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the step's own process ended with {self._process.wait()}")
        return float(answer)


class Pair:
    """A device and its other: rows of what both do."""

    def __init__(self, backend: Backend, seconds: float):
        self._backend, self._seconds = backend, seconds
        kernels = backend.module.get_device_properties(0).kernels
        self.twin = None if kernels in (None, "cpu") else torch.device(kernels)

    def steps(self, limit: float, *, compiled: bool) -> Row:
        """A training step of GPT-2. The twin's is in a process without the backend: autograd is
        refused on its tensors in one that has it (pytorch#161129)."""
        step = {"run": GptStep(self._backend.device, compiled)}
        here = Code("run()", step, self._backend.module.synchronize)
        with StepElsewhere(self.twin, compiled) as there:
            measured = paired(here, there, self._seconds)
        name = "compiled" if compiled else "eager"
        return Row(name, f"the same on {self.twin}", measured, limit=limit)

    def rows(
        self, limit: float | None, made: dict[str, Callable[[torch.device, Any], Code]]
    ) -> list[Row]:
        return [self._row(name, make, limit) for name, make in made.items()]

    def _row(
        self, name: str, make: Callable[[torch.device, Any], Code], limit: float | None
    ) -> Row:
        here = make(self._backend.device, self._backend.module)
        there = make(self.twin, getattr(torch, self.twin.type))
        measured = paired(here, there, self._seconds)
        return Row(name, f"the same on {self.twin}", measured, limit=limit)


def host_sections(backend: Backend, seconds: float) -> list[Section]:
    """What the host does. None for a device that has no such other."""
    pair = Pair(backend, seconds)
    if pair.twin is None:
        return []
    small = pair.rows(None, {name: _operator(code) for name, code in operators.OPERATORS.items()})
    return [
        Section(f"operators beside {pair.twin}, 4 x 4, float32", small, True, OPERATORS_LIMIT),
        Section(f"calls beside {pair.twin}", pair.rows(CALLS_LIMIT, _CALLS)),
    ]


def device_sections(backend: Backend, seconds: float) -> list[Section]:
    """What the device does. None for a device that has no such other."""
    pair = Pair(backend, seconds)
    if pair.twin is None:
        return []
    steps = [
        pair.steps(STEP_LIMIT, compiled=False),
        pair.steps(COMPILED_LIMIT, compiled=True),
    ]
    return [
        Section(f"kernels beside {pair.twin}", pair.rows(KERNELS_LIMIT, _KERNELS)),
        Section(f"copies of {COPIED >> 20} MiB", pair.rows(COPIES_LIMIT, _COPIES)),
        Section("a step of GPT-2, 124 million parameters, bfloat16", steps),
    ]


def _operator(statement: str) -> Callable[[torch.device, Any], Code]:
    return lambda device, module: Code(statement, operators.values(4, device), module.synchronize)


def _code(statement: str, **make: Callable) -> Callable[[torch.device, Any], Code]:
    """`make` has the values by name: each of a device and its module."""

    def code(device: torch.device, module: Any) -> Code:
        values = {name: value(device, module) for name, value in make.items()}
        return Code(statement, {"torch": torch, **values}, module.synchronize)

    return code


def _normal(*size: int) -> Callable[[torch.device, Any], Tensor]:
    return lambda device, module: torch.randn(*size, device=device, dtype=torch.bfloat16)


def _function(function: Callable) -> Callable[[torch.device, Any], Callable]:
    return lambda device, module: function


def _adamw(count: int, size: int, **options: bool) -> Callable[[torch.device, Any], Callable]:
    """A step for `count` parameters of `size` elements."""

    def make(device: torch.device, module: Any) -> Callable[[], object]:
        parameters = [nn.Parameter(torch.zeros(size, device=device)) for _ in range(count)]
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        return torch.optim.AdamW(parameters, **options).step

    return make


_CALLS = {
    "allocate and free 1 MiB": _code(
        "torch.empty(size, device=device)",
        size=lambda device, module: 1 << 18,
        device=lambda device, module: device,
    ),
    "change the stream, and back": _code(
        "with change(stream): pass",
        change=lambda device, module: module.stream,
        stream=lambda device, module: module.Stream(),
    ),
    "record an event, and let a stream wait": _code(
        "event.record(); stream.wait_event(event)",
        event=lambda device, module: module.Event(),
        stream=lambda device, module: module.Stream(),
    ),
    "AdamW, fused, 128 small tensors": _code("step()", step=_adamw(128, 8, fused=True)),
    "AdamW, foreach, 128 small tensors": _code("step()", step=_adamw(128, 8, foreach=True)),
}
_KERNELS = {
    "mm, 8192 x 8192, bfloat16": _code(
        "torch.mm(a, b)", a=_normal(8192, 8192), b=_normal(8192, 8192)
    ),
    "attention, 8 x 16 x 2048 x 64, bfloat16, causal": _code(
        "attention(q, k, v, is_causal=True)",
        attention=_function(nn.functional.scaled_dot_product_attention),
        **dict.fromkeys("qkv", _normal(8, 16, 2048, 64)),
    ),
    "layer_norm, 16384 x 4096, bfloat16": _code(
        "norm(x, (4096,))", norm=_function(nn.functional.layer_norm), x=_normal(16384, 4096)
    ),
    "conv2d, 64 x 128 x 56 x 56, bfloat16": _code(
        "convolve(x, w, padding=1)",
        convolve=_function(nn.functional.conv2d),
        x=_normal(64, 128, 56, 56),
        w=_normal(128, 128, 3, 3),
    ),
    "AdamW, fused, 134 million parameters": _code("step()", step=_adamw(32, 1 << 22, fused=True)),
}
_COPIES = {
    "host to device, pinned": _code(
        "here.copy_(pinned, non_blocking=True)",
        here=lambda device, module: torch.empty(COPIED, dtype=torch.uint8, device=device),
        pinned=lambda device, module: torch.ones(COPIED, dtype=torch.uint8).pin_memory(),
    ),
    "device to host, pinned": _code(
        "pinned.copy_(here, non_blocking=True)",
        here=lambda device, module: torch.ones(COPIED, dtype=torch.uint8, device=device),
        pinned=lambda device, module: torch.empty(COPIED, dtype=torch.uint8).pin_memory(),
    ),
}
