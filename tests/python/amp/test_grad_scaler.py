"""torch.amp.GradScaler("acme"): scaling, what it finds, and what it does then."""

import copy

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


def test_a_scaled_step_is_the_same_step():
    scaled, plain = Problem(), Problem()
    step(GradScaler("acme", init_scale=2.0**10), scaled)
    plain.loss().backward()
    plain.optimizer.step()
    torch.testing.assert_close(scaled.weights(), plain.weights())


@pytest.mark.parametrize("poison", [float("inf"), float("-inf"), float("nan")])
def test_what_is_not_finite_skips_the_step_and_backs_off(poison):
    problem, scaler = Problem(), GradScaler("acme", init_scale=8.0, backoff_factor=0.25)
    before = problem.weights()
    step(scaler, problem, poison=poison)
    assert torch.equal(problem.weights(), before)
    assert scaler.get_scale() == 2.0
    step(scaler, problem)
    assert not torch.equal(problem.weights(), before)
    assert scaler.get_scale() == 2.0


def test_the_scale_grows_after_enough_good_steps():
    problem = Problem()
    scaler = GradScaler("acme", init_scale=4.0, growth_factor=2.0, growth_interval=2)
    scales = []
    for poison in (None, None, None, float("inf"), None, None):
        step(scaler, problem, poison=poison)
        scales.append(scaler.get_scale())
    assert scales == [4.0, 8.0, 8.0, 4.0, 4.0, 8.0]


def test_one_bad_device_skips_only_its_optimizer(two_devices):
    good, bad, scaler = Problem(0), Problem(1), GradScaler("acme", init_scale=8.0)
    before = good.weights(), bad.weights()
    step(scaler, good, bad, poison=float("inf"))
    assert not torch.equal(good.weights(), before[0])
    assert torch.equal(bad.weights(), before[1])
    assert scaler.get_scale() == 4.0


def test_one_optimizer_over_two_devices(two_devices):
    here, there = Problem(0), Problem(1)
    parameters = [*here.net.parameters(), *there.net.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.5)
    scaler = GradScaler("acme", init_scale=8.0)
    for poison in (None, float("nan")):
        before = here.weights(), there.weights()
        optimizer.zero_grad()
        scaler.scale(here.loss()).backward()
        scaler.scale(there.loss()).backward()
        if poison is not None:
            there.net.weight.grad[0, 0] = poison
        scaler.step(optimizer)
        scaler.update()
        moved = poison is None
        assert torch.equal(here.weights(), before[0]) is not moved
        assert torch.equal(there.weights(), before[1]) is not moved
    assert scaler.get_scale() == 4.0


def test_gradients_can_be_unscaled_and_clipped():
    problem, scaler = Problem(), GradScaler("acme", init_scale=2.0**12)
    problem.loss().backward()
    expected = problem.net.weight.grad.clone()
    problem.optimizer.zero_grad()
    scaler.scale(problem.loss()).backward()
    scaler.unscale_(problem.optimizer)
    torch.testing.assert_close(problem.net.weight.grad, expected)
    torch.nn.utils.clip_grad_norm_(problem.net.parameters(), 1e-3)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(problem.optimizer)
    before = problem.weights()
    scaler.step(problem.optimizer)
    scaler.update()
    assert (problem.weights() - before).norm() <= 0.5e-3 * 1.01


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_with_autocast(dtype):
    problem, scaler = Problem(), GradScaler("acme", init_scale=2.0**8)
    first = problem.loss().item()
    for _ in range(5):
        problem.optimizer.zero_grad()
        with torch.autocast("acme", dtype=dtype):
            loss = problem.loss()
        scaler.scale(loss).backward()
        scaler.step(problem.optimizer)
        scaler.update()
    assert problem.loss().item() < first / 2


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


def test_lists_of_tensors_are_scaled():
    scaler = GradScaler("acme", init_scale=8.0)
    ones = [torch.ones(2, device="acme"), torch.ones(1, device="acme")]
    assert [each.tolist() for each in scaler.scale(ones)] == [[8.0, 8.0], [8.0]]


def test_a_disabled_scaler_does_nothing():
    scaler = GradScaler("acme", enabled=False)
    one = torch.ones(1, device="acme")
    assert scaler.scale(one) is one and scaler.get_scale() == 1.0


def test_the_state_can_be_kept():
    scaler = GradScaler("acme", init_scale=4.0, growth_interval=3)
    step(scaler, Problem())
    state = copy.deepcopy(scaler.state_dict())
    other = GradScaler("acme")
    other.load_state_dict(state)
    assert other.state_dict() == scaler.state_dict() == state
    assert state["scale"] == 4.0 and state["_growth_tracker"] == 1
