"""Records what a transformer's training asks of the device's allocator.

``python record.py 128 128 128 > transformer.txt``: the lengths of the steps' texts. On a device
whose memory is apart, so that every tensor is the allocator's. ``folding`` says how it is written.
"""

import sys

import torch
import torch_acme  # noqa: F401
from folding import text_of
from torch import nn
from torch.nn import functional

VOCABULARY, WIDTH, LAYERS, HEADS, LONGEST, BATCH = 4096, 256, 6, 8, 256, 8


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention = nn.LayerNorm(WIDTH)
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.merge = nn.Linear(WIDTH, WIDTH)
        self.before_mlp = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.project(self.before_attention(x)).split(WIDTH, dim=-1)
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (WIDTH // HEADS) ** -0.5
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        attention = scores.masked_fill(mask, float("-inf")).softmax(-1)
        x = x + self.merge((attention @ v).transpose(1, 2).flatten(2))
        return x + self.mlp(self.before_mlp(x))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.places(places))))


def train(lengths: list[int]) -> None:
    model = Transformer().to("acme")
    optimizer = torch.optim.AdamW(model.parameters())
    for length in lengths:
        text = torch.randint(VOCABULARY, (BATCH, length + 1)).to("acme")
        logits = model(text[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()


def main() -> None:
    torch.manual_seed(0)
    torch.acme.init()
    torch.acme.memory._record_memory_history(context=None)
    train([int(length) for length in sys.argv[1:]])
    events: list[int] = []
    live: list[int] = []  # addresses, the youngest last
    for entry in torch.acme.memory._snapshot()["device_traces"][0]:
        if entry["action"] == "alloc":
            live.append(entry["addr"])
            events.append(entry["size"])
        elif entry["action"] == "free_completed":
            events.append(live.index(entry["addr"]) - len(live))
            live.remove(entry["addr"])
    print(text_of(events), end="")


if __name__ == "__main__":
    main()
