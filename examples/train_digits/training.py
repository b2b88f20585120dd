"""Trains one network on one device, a step at a time, so that two devices can take turns."""

from __future__ import annotations

import statistics
import time

import digits
import torch
from torch import Tensor, nn

LEARNING_RATE = 2e-3


class Training:
    """A network and its optimizer on `device`, the same ones for the same seed.

    `amp` is what torch.autocast casts to, if anything; the loss is scaled for the range of float16.
    """

    def __init__(self, device: torch.device, seed: int, amp: torch.dtype | None = None):
        torch.manual_seed(seed)
        model = digits.network()
        if device.type != "cpu":
            # model.acme(0), as a user would write it, whatever the device is called.
            model = getattr(model, device.type)(device.index)
        self.device = device
        self.model = model
        self.losses: list[float] = []
        self.seconds: list[float] = []
        self._optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
        self._amp = amp
        self._scaler = torch.amp.GradScaler(device.type, enabled=amp == torch.float16)

    def step(self, images: Tensor, labels: Tensor) -> None:
        """From a batch on the CPU to the loss on the CPU, so the time is the whole step's."""
        started = time.perf_counter()
        images, labels = images.to(self.device), labels.to(self.device)
        with self._autocast():
            loss = nn.functional.cross_entropy(self.model(images), labels)
        self._optimizer.zero_grad()
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        self.losses.append(loss.item())
        self.seconds.append(time.perf_counter() - started)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, self._amp, enabled=self._amp is not None)

    @torch.inference_mode()
    def accuracy(self, held_out: digits.Digits) -> float:
        held_out = held_out.to(self.device)
        self.model.eval()
        with self._autocast():
            right = self.model(held_out.images).argmax(dim=1) == held_out.labels
        self.model.train()
        return right.float().mean().item()

    @property
    def seconds_a_step(self) -> float:
        return statistics.median(self.seconds)


def largest_difference(one: Training, other: Training) -> float:
    """Of the two curves of losses, step by step."""
    curves = torch.tensor([one.losses, other.losses], dtype=torch.float64)
    return (curves[0] - curves[1]).abs().max().item()  # NaN where a loss is


def ratio_of_times(one: Training, other: Training) -> float:
    """The median over the steps, of which each was taken on both at almost the same moment."""
    ratios = [a / b for a, b in zip(one.seconds, other.seconds, strict=True)]
    return statistics.median(ratios)
