"""A small GPT, and the bytes of this repository's licence that it learns."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

TEXT = torch.tensor(list(Path(__file__).parents[2].joinpath("LICENSE").read_bytes()))
CONTEXT, BATCH, WORDS, WIDTH, HEADS, LAYERS = 32, 16, 128, 64, 4, 2


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_wide = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        projected = self.query_key_value(self.before_attention(x))
        heads = (each.unflatten(2, (HEADS, -1)).transpose(1, 2) for each in projected.chunk(3, 2))
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.mix(mixed.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.before_wide(x))))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def batch(step: int) -> Tensor:
    """BATCH x (CONTEXT + 1) bytes from places of the text that are random, and each step's own."""
    generator = torch.Generator().manual_seed(step)
    starts = torch.randint(len(TEXT) - CONTEXT, (BATCH, 1), generator=generator)
    return TEXT[starts + torch.arange(CONTEXT + 1)]


def loss_of(model: nn.Module, tokens: Tensor) -> Tensor:
    return functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
