"""A step of training on the device, of each of the models whose operators are recorded."""

from collections.abc import Callable

import torch
from torch import nn


def _training(model: nn.Module, *inputs: torch.Tensor) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss = model(*inputs).square().mean()
        loss.backward()
        optimizer.step()
        loss.item()

    return step


def cnn(device: str) -> nn.Module:
    layers = (
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        *(nn.Dropout(0.1), nn.Linear(8, 4)),
    )
    return nn.Sequential(*layers).to(device)


def training_of_cnn(device: str = "acme") -> Callable[[], None]:
    return _training(cnn(device), torch.randn(2, 3, 16, 16, device=device))


def training_of_transformer(device: str = "acme") -> Callable[[], None]:
    model = nn.Transformer(16, 2, 1, 1, 32, batch_first=True).to(device)
    sources, targets = (torch.randn(2, length, 16, device=device) for length in (5, 4))
    return _training(model, sources, targets)


MODELS = {"cnn": training_of_cnn, "transformer": training_of_transformer}
