"""The backend loads and computes. Run with: python -m pytest tests"""

import torch
import torch_acme  # noqa: F401


def test_a_tensor_goes_to_the_device_and_comes_back():
    tensor = torch.arange(6.0).reshape(2, 3)
    there = tensor.acme()
    assert there.is_acme and there.device.type == "acme"
    assert torch.equal(there.cpu(), tensor)


def test_autograd_runs_on_the_device():
    weight = torch.ones(3, device="acme", requires_grad=True)
    (weight * 2).sum().backward()
    assert weight.grad.is_acme
    assert torch.equal(weight.grad.cpu(), torch.full((3,), 2.0))


def test_every_device_is_there():
    assert torch.acme.is_available()
    for index in range(torch.acme.device_count()):
        assert torch.zeros(1, device=f"acme:{index}").device.index == index


def test_our_own_operator_has_a_derivative_and_a_shape():
    declared = torch.accelerator.get_device_capability("acme")["supported_dtypes"]
    x = torch.linspace(-2, 2, 6)
    if torch.float64 in declared:
        x = x.double().acme().requires_grad_()
        assert torch.autograd.gradcheck(torch.ops.acme.scaled_silu, (x, 0.5))
    else:  # the CPU's float64 has to do
        exact = x.double().requires_grad_()
        (exact * exact.sigmoid() * 0.5).sum().backward()
        x = x.acme().requires_grad_()
        torch.ops.acme.scaled_silu(x, 0.5).sum().backward()
        torch.testing.assert_close(x.grad.cpu(), exact.grad.float())
    assert torch.ops.acme.scaled_silu(x.detach().to("meta")).shape == (6,)


def test_zero_is_ours():
    x = torch.ones(3, 4).acme()
    x[:, 1].zero_()
    assert x.cpu().sum() == 9
    assert x.zero_().cpu().abs().sum() == 0
