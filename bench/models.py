"""Whole models: a training step of the demo, and a forward pass of a transformer."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from backend import Backend
from rows import Row, Section
from timing import Code, paired
from torch import nn

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples" / "train_digits"))
import digits

BATCH = 32
LAYERS, WIDTH, HEADS, TOKENS = 12, 256, 8, 32
TRAINING_LIMIT, TRANSFORMER_LIMIT = 1.10, 1.05


class TrainingStep:
    """The demo's: forward, loss, backward and AdamW."""

    def __init__(self, device: torch.device):
        torch.manual_seed(0)
        self._model = digits.network().to(device)
        self._optimizer = torch.optim.AdamW(self._model.parameters())
        self._images = torch.rand(BATCH, 1, 8, 8).to(device)
        self._labels = torch.randint(10, (BATCH,)).to(device)

    def __call__(self) -> None:
        loss = nn.functional.cross_entropy(self._model(self._images), self._labels)
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()


class Transformer:
    """Twelve layers over one sequence, as when a language model reads a prompt."""

    def __init__(self, device: torch.device):
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, activation="gelu", batch_first=True, norm_first=True
        )
        model = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self._model = model.eval().to(device)
        self._tokens = torch.rand(1, TOKENS, WIDTH).to(device)

    @torch.inference_mode()
    def __call__(self) -> None:
        self._model(self._tokens)


def sections(backend: Backend, seconds: float) -> list[Section]:
    models = [
        (f"training step of the demo, batch {BATCH}", TrainingStep, TRAINING_LIMIT),
        (f"transformer, {LAYERS} layers of {WIDTH}, batch 1", Transformer, TRANSFORMER_LIMIT),
    ]
    rows = []
    for name, model, limit in models:
        here = Code("run()", {"run": model(backend.device)}, backend.settle)
        cpu = Code("run()", {"run": model(torch.device("cpu"))})
        # A step takes as long as a thousand small operators.
        measured = paired(here, cpu, 5 * seconds)
        limit_here = limit if backend.is_in_place else None
        rows.append(Row(name, "the same on the CPU", measured, limit=limit_here))
    return [Section("models", rows)]
