"""Steps of training a small GPT with bf16 autocast, attention as torch chooses it, and fused AdamW:
gpt_step.py DEVICE STEPS"""

import sys

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, HEADS, LAYERS, LENGTH = 256, 128, 4, 2, 64


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.ask, self.answer = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            each.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for each in self.ask(self.before(x)).chunk(3, -1)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.answer(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.narrow(F.gelu(self.widen(self.between(x))))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.after, self.guess = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        places = torch.arange(words.shape[1], device=words.device)
        return self.guess(self.after(self.blocks(self.words(words) + self.places(places))))


def train(device: str, steps: int) -> object:
    torch.manual_seed(0)
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    text = torch.randint(0, WORDS, (4, LENGTH)).to(device)
    for _ in range(steps):
        with torch.autocast(device, dtype=torch.bfloat16, cache_enabled=False):
            guessed = model(text[:, :-1])
            loss = F.cross_entropy(guessed.flatten(0, 1).float(), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.accelerator.synchronize()
    return model, optimizer


if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]))
