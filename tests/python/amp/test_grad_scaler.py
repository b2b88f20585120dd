"""torch.amp.GradScaler("acme"): scaling, what it finds, and what it does then."""

import pytest
import torch
from torch.amp import GradScaler

pytestmark = pytest.mark.turns_on_memory


class Problem:
    """A network, its optimizer and one batch."""

    def __init__(self, device: int = 0, **optimizer) -> None:
        torch.manual_seed(0)
        self.net = torch.nn.Linear(4, 2).acme(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.5, **optimizer)
        self.x = torch.randn(8, 4, device=f"acme:{device}")

    def loss(self) -> torch.Tensor:
        return self.net(self.x).square().mean()

    def weights(self) -> torch.Tensor:
        return self.net.weight.detach().cpu().clone()


def step(scaler: GradScaler, *problems: Problem, poison: float | None = None) -> None:
    for problem in problems:
        problem.optimizer.zero_grad()
        scaler.scale(problem.loss()).backward()
    if poison is not None:
        problems[-1].net.weight.grad[0, 0] = poison
    for problem in problems:
        scaler.step(problem.optimizer)
    scaler.update()


def test_one_bad_device_skips_only_its_optimizer(two_devices):
    good, bad, scaler = Problem(0), Problem(1), GradScaler("acme", init_scale=8.0)
    before = good.weights(), bad.weights()
    step(scaler, good, bad, poison=float("inf"))
    assert not torch.equal(good.weights(), before[0])
    assert torch.equal(bad.weights(), before[1])
    assert scaler.get_scale() == 4.0


@pytest.mark.parametrize("options", [{"foreach": True}, {"foreach": False}, {"fused": True}])
def test_every_way_to_step(options):
    expected = Problem()
    step(GradScaler("acme", init_scale=8.0), expected)
    problem = Problem(**options)
    step(GradScaler("acme", init_scale=8.0), problem)
    torch.testing.assert_close(problem.weights(), expected.weights())
    before = problem.weights()
    step(GradScaler("acme", init_scale=8.0), problem, poison=float("inf"))
    assert torch.equal(problem.weights(), before)
