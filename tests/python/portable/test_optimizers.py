"""Steps of optimizers that the device makes: fused ones, those over lists, and the GradScaler."""

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.turns_on_kernels

OPTIMIZERS = {
    "Adam": (torch.optim.Adam, {"lr": 0.1}),
    "Adam, weight decay": (torch.optim.Adam, {"lr": 0.1, "weight_decay": 0.1}),
    "Adam, amsgrad": (torch.optim.Adam, {"lr": 0.1, "amsgrad": True}),
    "Adam, maximize": (torch.optim.Adam, {"lr": 0.1, "maximize": True}),
    "Adam, beta1 of 0": (torch.optim.Adam, {"lr": 0.1, "betas": (0.0, 0.99)}),
    "Adam, beta1 of 0.3": (torch.optim.Adam, {"lr": 0.1, "betas": (0.3, 0.9999)}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.1}),
    "SGD": (torch.optim.SGD, {"lr": 0.1}),
    "SGD, momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    "SGD, dampening": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1}),
    "SGD, nesterov": (
        torch.optim.SGD,
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
    ),
    "Adagrad": (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1}),
}
SIZES = [(3, 4), (17,), (), (2, 3, 5, 7), (0,), (300, 40)]
TOLERANCES = {torch.float32: 3e-6, torch.float64: 1e-13}
ways = pytest.mark.parametrize(
    "way", [{"fused": True}, {"foreach": True}, {"foreach": False}], ids=str
)


def train(name, device, dtype, arrange=lambda tensor: tensor, **options) -> list[torch.Tensor]:
    """The parameters after a few steps."""
    torch.manual_seed(0)
    make, own = OPTIMIZERS[name]
    trained = [nn.Parameter(torch.randn(size).to(dtype).to(device)) for size in SIZES]
    optimizer = make(trained, **own | options)
    for _ in range(4):
        for each in trained:
            each.grad = arrange(torch.randn(each.shape).to(dtype).to(device))
        optimizer.step()
    return [each.detach() for each in trained]


def close(results: list, wanted: list, tolerance: float) -> None:
    for result, want in zip(results, wanted, strict=True):
        assert result.is_acme
        torch.testing.assert_close(
            result.cpu(), want.to(result.dtype), rtol=tolerance, atol=tolerance
        )


@ways
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(on_device, name, dtype, way):
    wanted = train(name, "cpu", dtype, foreach=False)
    close(train(name, "acme", dtype, **way), wanted, TOLERANCES[dtype])


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.t().contiguous().t() if tensor.dim() == 2 else tensor


@pytest.mark.parametrize("name", ["AdamW", "SGD", "SGD, momentum", "Adagrad"])
def test_gradients_that_lie_in_another_order(on_device, name):
    wanted = train(name, "cpu", torch.float32, foreach=False)
    close(train(name, "acme", torch.float32, transposed, fused=True), wanted, 3e-6)


@pytest.mark.parametrize("rate_on", ["cpu", "acme"])
@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD, momentum"])
def test_a_rate_that_is_a_tensor(on_device, name, rate_on):
    wanted = train(name, "cpu", torch.float32, foreach=False)
    rate = torch.tensor(0.1).to(rate_on)
    close(train(name, "acme", torch.float32, fused=True, lr=rate), wanted, 3e-6)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD, momentum", "Adagrad"])
def test_with_a_grad_scaler(on_device, name, fused):
    """It divides gradients, leaves out the step with an infinite one, and changes its scale."""
    make, own = OPTIMIZERS[name]
    trained, scales = {}, {}
    for device in ("cpu", "acme"):
        torch.manual_seed(0)
        trained[device] = [nn.Parameter(torch.randn(size).to(device)) for size in SIZES]
        optimizer = make(trained[device], **own, fused=fused)
        scaler = torch.amp.GradScaler(device, init_scale=8.0, growth_interval=2)
        scales[device] = []
        for factor in (1.0, float("inf"), 2.0, float("nan"), 1.0, 1.0, 1.0):
            for each in trained[device]:
                gradient = scaler.scale(torch.randn(each.shape).to(device) * factor)
                each.grad = transposed(gradient) if device == "acme" else gradient
            scaler.step(optimizer)
            scaler.update()
            scales[device].append(scaler.get_scale())
    assert scales["acme"] == scales["cpu"] == [8, 4, 4, 2, 2, 4, 4]
    close(
        [each.detach() for each in trained["acme"]],
        [each.detach() for each in trained["cpu"]],
        3e-6,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_gradients_are_divided_in_their_dtype(on_device, dtype):
    gradients = [torch.randn(size).to(dtype) for size in SIZES]
    there = [gradient.acme() for gradient in gradients]
    found, inverse = torch.zeros(1, device="acme"), torch.full((1,), 0.3, device="acme")
    torch._amp_foreach_non_finite_check_and_unscale_(there, found, inverse)
    factor, wide = inverse.cpu()[0], torch.promote_types(dtype, torch.float32)
    close(there, [gradient.to(wide) * factor.to(wide) for gradient in gradients], 1e-12)
    assert found.item() == 0
    there[-1][-1, -1] = float("-inf")
    torch._amp_foreach_non_finite_check_and_unscale_(there, found, inverse)
    assert found.item() == 1


@ways
@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD, nesterov"])
def test_a_network_learns_as_on_the_cpu(on_device, name, way):
    torch.acme.set_fallback_mode("allow")  # not all of the network's operators are meant here
    make, own = OPTIMIZERS[name]
    own = own | {"lr": 0.01, "maximize": False}
    losses = {}
    for device in ("cpu", "acme"):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
        x, y = (torch.randn(64, width).to(device) for width in (10, 1))
        optimizer = make(network.parameters(), **own, **way)
        losses[device] = []
        for step in range(12):
            optimizer.zero_grad()
            loss = (network(x) - y).square().mean()
            loss.backward()
            if step % 3 == 1:
                nn.utils.clip_grad_norm_(network.parameters(), 0.3)
            if step % 3 == 2:
                nn.utils.clip_grad_value_(network.parameters(), 0.01)
            optimizer.step()
            losses[device].append(loss.item())
    assert losses["acme"] == pytest.approx(losses["cpu"], rel=1e-5)
    assert losses["cpu"][-1] < losses["cpu"][0]
