"""What all forms train: a transformer of two layers, its data, and steps of training."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

STEPS, BATCH, CONTEXT = 50, 12, 8  # a batch for two, three or four processes
WORDS, WIDTH, HEADS = 16, 32, 4
RATE = 1e-3


class Attention(nn.Module):
    """With a projection each for queries, keys and values, so that heads can be split."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (
            nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        heads = (
            project(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
            for project in (self.query, self.key, self.value)
        )
        return self.out(self.attend(*heads).transpose(1, 2).flatten(2))

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_wide = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.before_attention(x))
        return x + self.narrow(functional.gelu(self.wide(self.before_wide(x))))


class Network(nn.Sequential):
    """Tokens to the logits of the next ones, in parts of which a stage of a pipeline takes some."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        super().__init__(nn.Embedding(WORDS, WIDTH), Layer(), Layer(), nn.Linear(WIDTH, WORDS))


def loss_of(logits: Tensor, expected: Tensor) -> Tensor:
    return functional.cross_entropy(logits.flatten(0, 1), expected.flatten())


def batches(device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """For each step: tokens, and the token that comes after each, which a rule says."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(STEPS):
        tokens = torch.randint(WORDS, (BATCH, CONTEXT), generator=generator)
        yield tokens.to(device), ((3 * tokens + 1) % WORDS).to(device)


def shards(device: torch.device, rank: int, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """For each step: what this rank has of the batch."""
    for tokens, expected in batches(device):
        yield tokens.chunk(size)[rank], expected.chunk(size)[rank]


def adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=RATE)


def train(
    model: Callable[[Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    data: Iterator[tuple[Tensor, Tensor]],
) -> list[float]:
    """The loss at each step."""
    losses = []
    for tokens, expected in data:
        loss = loss_of(model(tokens), expected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
