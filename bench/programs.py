"""Programs: training steps of small networks, optimizers, and what surrounds them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

THREADS = (1, 2)
PYTHON_THREADS = (2, 4)
LIVE_TENSORS = 200_000
PARAMETERS = 400

STEP_LIMIT, LIMITED_NS = 1.05, 2e6
RECURRENT_LIMIT, OPTIMIZER_LIMIT, ITEM_LIMIT = 1.10, 1.05, 1.5

CPU = torch.device("cpu")


class Recurrent(nn.Module):
    """A recurrent layer over a padded sequence, and what reads its last state."""

    def __init__(self, layer: nn.RNNBase):
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(layer.hidden_size, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0][:, -1])


class Gpt(nn.Module):
    """Two causal transformer layers over tokens."""

    def __init__(self, width: int = 128, heads: int = 4, tokens: int = 32, words: int = 256):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(tokens))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layers(self.embedding(tokens), self.mask, is_causal=True)[:, -1])


def _mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )


def _cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 8 * 8, 10),
    )  # fmt: skip


def _sequence(layer: type[nn.RNNBase]) -> Callable[[], nn.Module]:
    return lambda: Recurrent(layer(64, 128, batch_first=True))


# What a network is made of, and its input for a batch.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Tensor]]] = {
    "MLP": (_mlp, lambda batch: torch.randn(batch, 256)),
    "CNN": (_cnn, lambda batch: torch.randn(batch, 3, 32, 32)),
    "LSTM": (_sequence(nn.LSTM), lambda batch: torch.randn(batch, 32, 64)),
    "GPT": (Gpt, lambda batch: torch.randint(256, (batch, 32))),
}


class Step:
    """A training step: forward, loss, backward, SGD."""

    def __init__(self, name: str, batch: int, device: torch.device):
        torch.manual_seed(0)
        make, data = NETWORKS[name]
        self.model = make().to(device)
        self._optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self._data = data(batch).to(device)
        self._labels = torch.randint(10, (batch,)).to(device)

    def __call__(self) -> None:
        self._optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(self._data), self._labels).backward()
        self._optimizer.step()


class InThreads:
    """The same step in several Python threads at once, each with a model of its own."""

    def __init__(self, count: int, device: torch.device):
        self._steps = [Step("MLP", 8, device) for _ in range(count)]
        self._pool = ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,))

    def __call__(self) -> None:
        for done in [self._pool.submit(step) for step in self._steps]:
            done.result()


def _layer(kind: type[nn.RNNBase], *, trains: bool) -> Callable[[torch.device], Callable]:
    def make(device: torch.device) -> Callable[[], None]:
        torch.manual_seed(0)
        layer, x = kind(32, 64).to(device), torch.randn(16, 8, 32).to(device)

        def run() -> None:
            with torch.set_grad_enabled(trains):
                output = layer(x)[0]
                if trains:
                    torch.autograd.grad(output.sum(), list(layer.parameters()))

        return run

    return make


def _parameters(device: torch.device) -> list[nn.Parameter]:
    parameters = [nn.Parameter(torch.randn(16, 16).to(device)) for _ in range(PARAMETERS)]
    for parameter in parameters:
        parameter.grad = torch.randn(16, 16).to(device)
    return parameters


def _optimizer(kind: type[torch.optim.Optimizer], **options: object) -> Callable:
    return lambda device: kind(_parameters(device), lr=1e-3, **options).step


def _clip(device: torch.device) -> Callable[[], object]:
    parameters = _parameters(device)
    return lambda: nn.utils.clip_grad_norm_(parameters, 1.0)


def _item(device: torch.device) -> Callable[[], object]:
    return torch.ones((), device=device).item


def _gradients_of_samples(device: torch.device) -> Callable[[], object]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    x = torch.randn(32, 16).to(device)

    def loss(values: dict[str, Tensor], sample: Tensor) -> Tensor:
        return functional_call(model, values, (sample,)).square().sum()

    gradients = vmap(grad(loss), in_dims=(None, 0))
    return lambda: gradients(parameters, x)


def _items() -> dict[str, tuple[Callable[[torch.device], Callable], float | None]]:
    """Name, how to make it for a device, and the limit of its ratio."""
    recurrent = {
        f"{kind.__name__}, {what}": (_layer(kind, trains=trains), RECURRENT_LIMIT)
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
        for what, trains in (("forward", False), ("forward and backward", True))
    }
    steps = {
        f"{kind.__name__}, {form}, {PARAMETERS} parameters": (
            _optimizer(kind, **{form: True}),
            OPTIMIZER_LIMIT,
        )
        for kind in (torch.optim.AdamW, torch.optim.SGD)
        for form in ("fused", "foreach")
    }
    steps[f"SGD, momentum, foreach, {PARAMETERS} parameters"] = (
        _optimizer(torch.optim.SGD, momentum=0.9, foreach=True),
        OPTIMIZER_LIMIT,
    )
    return {
        **recurrent,
        **steps,
        "clip_grad_norm_": (_clip, OPTIMIZER_LIMIT),
        "item()": (_item, ITEM_LIMIT),
        "vmap(grad(...))": (_gradients_of_samples, None),
    }


def sections(backend: Backend, batches: list[int], seconds: float) -> list[Section]:
    def row(name: str, make: Callable, limit: float | None = None, threads: int = 1) -> Row:
        with _threads(threads):
            here = Code("run()", {"run": make(backend.device)}, backend.settle)
            cpu = Code("run()", {"run": make(CPU)})
            measured = paired(here, cpu, seconds)
        if limit is None and (measured.reference_ns or 0) >= LIMITED_NS:
            limit = STEP_LIMIT
        limit = limit if backend.is_in_place else None
        return Row(name, "the same on the CPU", measured, limit=limit)

    parts = [row(name, make, limit) for name, (make, limit) in _items().items()]
    steps = [
        row(
            f"{name}, batch {batch}, {threads} thread{'s' * (threads > 1)}",
            lambda device, name=name, batch=batch: Step(name, batch, device),
            threads=threads,
        )
        for threads in THREADS
        for name in NETWORKS
        for batch in batches
    ]
    steps += [
        row(
            f"MLP, batch 8, in {count} Python threads", lambda device, n=count: InThreads(n, device)
        )
        for count in PYTHON_THREADS
    ]
    alive = [torch.empty(1, device=device) for device in (backend.device, CPU)
             for _ in range(LIVE_TENSORS)]  # fmt: skip
    steps.append(
        row(
            f"MLP, batch 8, beside {LIVE_TENSORS:,} tensors",
            lambda device: Step("MLP", 8, device),
        )
    )
    alive.clear()
    return [
        Section("recurrent layers, optimizers and small parts", parts),
        Section("training steps", steps),
    ]


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
