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
