"""Models as people train them: each takes a batch and gives its loss."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Of a transformer, with the norms before the parts."""

    def __init__(self, width: int, heads: int, *, is_causal: bool) -> None:
        super().__init__()
        self.heads, self.is_causal = heads, is_causal
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.layers = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        n, t, width = x.shape
        parts = self.qkv(self.norms[0](x)).split(width, 2)
        q, k, v = (each.view(n, t, self.heads, -1).transpose(1, 2) for each in parts)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.is_causal)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, width))
        return x + self.layers(self.norms[1](x))


class Gpt(nn.Module):
    """With these sizes 10.4 million parameters."""

    def __init__(self, words: int = 8000, width: int = 256, depth: int = 8) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList(Block(width, 4, is_causal=True) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def batch(self, n: int) -> tuple[torch.Tensor, ...]:
        text = torch.randint(self.words.num_embeddings, (n, 33))
        return text[:, :-1], text[:, 1:]

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        hidden = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            hidden = block(hidden)
        return F.cross_entropy(self.head(self.norm(hidden)).flatten(0, 1), y.flatten())


class Bert(nn.Module):
    """With padding, segments, and a loss over some of the words only."""

    def __init__(self, words: int = 2000, width: int = 128, depth: int = 4) -> None:
        super().__init__()
        self.words, self.segments = nn.Embedding(words, width, 0), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Block(width, 4, is_causal=False) for _ in range(depth))
        self.head = nn.Sequential(
            nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, words)
        )

    def batch(self, n: int) -> tuple[torch.Tensor, ...]:
        x = torch.randint(1, self.words.num_embeddings, (n, 24))
        x[::2, 15:] = 0
        return x, x.where(torch.rand(x.shape) < 0.3, -100)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        segments = (torch.arange(x.shape[1], device=x.device) >= 12).long().expand_as(x)
        hidden = self.norm(self.words(x) + self.segments(segments))
        for block in self.blocks:
            hidden = block(hidden, (x != 0)[:, None, None, :])
        labels = y.masked_fill(x == 0, -100)
        return F.cross_entropy(self.head(hidden).flatten(0, 1), labels.flatten(), ignore_index=-100)


class Digits(nn.Module):
    """That of examples/train_digits."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1)),
            *(nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 16, 10)),
        )

    def batch(self, n: int) -> tuple[torch.Tensor, ...]:
        return torch.rand(n, 1, 8, 8), torch.randint(10, (n,))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.layers(x), y)


class _Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)),
            *(nn.ReLU(), nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)),
        )
        self.shortcut = nn.Sequential()
        if stride != 1 or before != after:
            projection = nn.Conv2d(before, after, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.layers(x) + self.shortcut(x)).relu()


class ResNet18(nn.Module):
    """As for images of 32 x 32: K. He et al., CVPR 2016."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(3, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
        before = width
        for stage in range(4):
            after = width << stage
            layers.append(_Residual(before, after, 2 if stage else 1))
            layers.append(_Residual(after, after, 1))
            before = after
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(before, 10)

    def batch(self, n: int) -> tuple[torch.Tensor, ...]:
        return torch.randn(n, 3, 32, 32), torch.randint(10, (n,))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.head(self.layers(x)), y)


class UNet(nn.Module):
    """O. Ronneberger et al., MICCAI 2015, with group norms and nearest upsampling."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()

        def part(before: int, after: int) -> nn.Module:
            return nn.Sequential(
                nn.Conv2d(before, after, 3, 1, 1), nn.GroupNorm(4, after), nn.SiLU()
            )

        self.down = nn.ModuleList(
            [part(1, width), part(width, 2 * width), part(2 * width, 4 * width)]
        )
        self.up = nn.ModuleList([part(6 * width, 2 * width), part(3 * width, width)])
        self.head = nn.Conv2d(width, 1, 1)

    def batch(self, n: int) -> tuple[torch.Tensor, ...]:
        x = torch.randn(n, 1, 24, 24)
        return x, (x > 0.5).float()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        kept = []
        for i, each in enumerate(self.down):
            x = each(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        kept.pop()
        for each in self.up:
            x = each(torch.cat([F.interpolate(x, scale_factor=2.0), kept.pop()], 1))
        return F.binary_cross_entropy_with_logits(self.head(x), y)
