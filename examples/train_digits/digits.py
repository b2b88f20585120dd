"""The data and the network: scanned digits, 8x8, and a small convolutional classifier."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy
import torch
from torch import Tensor, nn

HELD_OUT = 0.25  # of the images are never trained on


@dataclasses.dataclass(frozen=True)
class Digits:
    """Real handwriting: 1,797 scans that come with scikit-learn, so nothing is downloaded."""

    images: Tensor  # float32, N x 1 x 8 x 8, from 0 to 1
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> Digits:
        return Digits(self.images.to(device), self.labels.to(device))

    def batches(self, size: int, steps: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
        """`steps` batches, in an order that depends on the seed alone."""
        generator = torch.Generator().manual_seed(seed)
        while True:
            order = torch.randperm(len(self), generator=generator)
            for chosen in order.split(size)[: len(self) // size]:
                if steps == 0:
                    return
                steps -= 1
                yield self.images[chosen], self.labels[chosen]


def load(seed: int) -> tuple[Digits, Digits]:
    """The digits to learn from and the held-out ones, split by the seed."""
    scans, written = _read()
    images = torch.from_numpy(scans).to(torch.float32).unsqueeze(1) / scans.max()
    labels = torch.from_numpy(written)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    held_out, training = order.tensor_split([int(len(order) * HELD_OUT)])
    return Digits(images[training], labels[training]), Digits(images[held_out], labels[held_out])


def _read() -> tuple[numpy.ndarray, numpy.ndarray]:
    """The scans, N x 8 x 8, from 0 to 16, and the digits that were written."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return bunch.images, bunch.target


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 10),
    )
