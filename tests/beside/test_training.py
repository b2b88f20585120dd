"""Training: the same losses after the same steps, in every way that a step runs."""

import os
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn
from torch.nn import functional

STEPS = 100


def cnn(dropout):
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Dropout(dropout),
        nn.Linear(32 * 8 * 8, 10),
    )  # fmt: skip


class Transformer(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.embedding = nn.Embedding(64, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout, "gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 10)

    def forward(self, tokens):
        return self.head(self.layers(self.embedding(tokens)).mean(1))


NETWORKS = {
    "cnn": (cnn, lambda: torch.randn(32, 3, 16, 16)),
    "transformer": (Transformer, lambda: torch.randint(64, (32, 24))),
}


class Training:
    def __init__(self, name, on, optimizer=torch.optim.AdamW, *, dropout=0.0, **options):
        make, data = NETWORKS[name]
        self.kind = on.type
        self.model, self.data = make(dropout).to(on), data().to(on)
        self.labels = torch.randint(10, (32,)).to(on)
        self.optimizer = optimizer(self.model.parameters(), lr=1e-3, **options)

    def loss(self):
        return functional.cross_entropy(self.model(self.data), self.labels)

    def step(self):
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


@pytest.mark.parametrize("dropout", [0.0, pytest.param(0.1, marks=pytest.mark.draws)])
@pytest.mark.parametrize("form", ["fused", "foreach"])
@pytest.mark.parametrize("name", NETWORKS)
def test_losses_over_steps(same, name, form, dropout):
    def program(on):
        training = Training(name, on, dropout=dropout, **{form: True})
        return [training.step() for _ in range(STEPS)]

    same(program)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_losses_under_autocast(same, other, dtype):
    if other.type == "cpu":
        pytest.skip("needs a device with CUDA's rules for autocast; the CPU has its own")

    def program(on):
        training = Training("transformer", on)
        scaler = torch.amp.GradScaler(on.type, enabled=dtype == torch.float16)
        losses = []
        for _ in range(STEPS):
            training.optimizer.zero_grad()
            with torch.autocast(on.type, dtype):
                loss = training.loss()
            scaler.scale(loss).backward()
            scaler.step(training.optimizer)
            scaler.update()
            losses.append(loss.detach())
        return losses

    same(program)


def test_losses_of_a_graph_that_is_replayed(same, other):
    if other.type == "cpu":
        pytest.skip("needs a device that has graphs where the other has them; the CPU has none")

    def program(on):
        module = getattr(torch, on.type)
        training = Training("transformer", on, capturable=True)
        aside = module.Stream()
        aside.wait_stream(module.current_stream())
        with module.stream(aside):
            for _ in range(3):
                training.step()
        module.current_stream().wait_stream(aside)
        graph = module.CUDAGraph()
        with module.graph(graph):
            loss = training.step()
        losses = []
        for _ in range(STEPS):
            graph.replay()
            losses.append(loss.clone())
        return losses

    same(program)


def test_a_compiled_step(same):
    def program(on):
        training = Training("transformer", on, torch.optim.SGD)
        training.model = torch.compile(training.model)
        return [training.step() for _ in range(10)]

    same(program)


def test_expandable_segments(device, other):
    if other.type != "cuda":
        pytest.skip("needs CUDA's allocator")
    program = """
    import torch, torch_acme
    blocks = [torch.full((1 << 20,), float(i), device="acme") for i in range(40)]
    assert [block[-1].item() for block in blocks] == list(range(40))
    segments = torch.cuda.memory_snapshot()
    assert segments and all(segment["is_expandable"] for segment in segments)
    """
    variables = {**os.environ, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
