"""Trains a network whose first half is on acme:0 and whose second half is on acme:1.

python split.py
"""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

STEPS, BATCH = 300, 64


class Split(nn.Module):
    """Two halves, each on its device; what goes between them is copied from one to the other."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        layers = [nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 10)]
        self.first = nn.Sequential(*layers[:2]).to(first)
        self.second = nn.Sequential(*layers[2:]).to(second)
        self.devices = torch.device(first), torch.device(second)

    def forward(self, x: Tensor) -> Tensor:
        halfway = self.first(x.to(self.devices[0]))
        return self.second(halfway.to(self.devices[1]))  # autograd copies the gradient back


def train(model: Split, images: Tensor, labels: Tensor) -> list[float]:
    """The curve of losses. One optimizer has the parameters of both devices."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = []
    for step in range(STEPS):
        chosen = torch.arange(step * BATCH, (step + 1) * BATCH) % len(labels)
        answers = model(images[chosen])
        loss = nn.functional.cross_entropy(answers, labels[chosen].to(answers.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    torch.set_num_threads(1)
    digits = load_digits()
    images, labels = torch.from_numpy(digits.data).float() / 16, torch.from_numpy(digits.target)

    split, whole = Split("acme:0", "acme:1"), Split("cpu", "cpu")
    on_two, on_cpu = train(split, images, labels), train(whole, images, labels)
    for half in ("first", "second"):
        parameters = list(getattr(split, half).parameters())
        size = sum(p.nbytes for p in parameters)
        gradients = {str(p.grad.device) for p in parameters if p.grad is not None}
        print(f"{half} half: {size} bytes of parameters on {parameters[0].device}, ", end="")
        print(f"gradients on {', '.join(gradients)}")
    answers = split(images)
    right = (answers.argmax(dim=1).cpu() == labels).float().mean().item()
    print(f"answers on {answers.device}: {right:.0%} of {len(labels)} digits are right")
    print("step   loss on two devices   loss on cpu")
    for step in (0, 100, 200, STEPS - 1):
        print(f"{step:>4}   {on_two[step]:19.6f}   {on_cpu[step]:11.6f}")
    print(f"equal losses: {on_two == on_cpu}")


if __name__ == "__main__":
    main()
