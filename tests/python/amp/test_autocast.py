"""torch.autocast."""

import pytest
import torch


def test_rules_decide_the_dtype():
    x = torch.randn(4, 4, device="acme")
    half = x.bfloat16()
    with torch.autocast("acme", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
        assert torch.nn.functional.linear(x, x).dtype == torch.bfloat16
        assert torch.exp(half).dtype == torch.float32
        assert half.norm().dtype == torch.float32
        assert half.sum().dtype == torch.float32
        assert torch.addcmul(x, half, half).dtype == torch.float32
        assert torch.relu(half).dtype == torch.bfloat16
    assert (x @ x).dtype == torch.float32


def test_binary_cross_entropy_is_refused():
    x = torch.rand(3, device="acme")
    with torch.autocast("acme", dtype=torch.bfloat16):
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            torch.nn.functional.binary_cross_entropy(x, x)


def test_the_cpus_autocast_does_not_reach_into_kernels():
    x = torch.randn(4, 4, device="acme")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.float32


def test_gradients_are_scaled():
    net = torch.nn.Linear(4, 1).acme()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("acme", init_scale=8.0)
    before = net.weight.detach().clone()
    with torch.autocast("acme", dtype=torch.float16):
        loss = net(torch.randn(8, 4, device="acme")).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8.0 and not torch.equal(net.weight, before)
