"""TorchScript: modules on the device that are scripted, traced, frozen and saved."""

from __future__ import annotations

import io

import torch
from torch import nn

from ..apart import need_device
from ..backend import Backend
from ..check import check


class Net(nn.Module):
    """Branches, a buffer, and a tensor that is made inside."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 2)
        self.register_buffer("offset", torch.full((2,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        if x.size(0) > 2:
            y = y * 2
        return self.second(y) + self.offset + torch.ones(2, device=x.device)


def made(backend: Backend) -> tuple[Net, torch.Tensor]:
    torch.manual_seed(0)
    return Net().to(backend.device).eval(), torch.randn(3, 4, device=backend.device)


def is_there(module: torch.nn.Module, device: torch.device) -> None:
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        assert tensor.device == device, f"{name} is on {tensor.device}, expected {device}"


@check(called_by="torch/jit/_script.py: script", without="scripted models do not run on the device")
def a_scripted_module_runs(backend: Backend) -> None:
    """A scripted module gives what the module gives, call after call, in each of its branches."""
    net, x = made(backend)
    scripted = torch.jit.script(net)
    for _ in range(4):  # the first runs only profile
        torch.testing.assert_close(scripted(x), net(x))
        torch.testing.assert_close(scripted(x[:2]), net(x[:2]))
    assert scripted(x).device == backend.device


@check(called_by="torch/jit/_trace.py: trace", without="traced models do not run on the device")
def a_traced_module_runs(backend: Backend) -> None:
    """A traced module gives what the module gives, and its gradients."""
    net, x = made(backend)
    # PyTorch's own comparison of the trace is made in float64, on the device.
    traced = torch.jit.trace(net, (x,), check_trace=backend.has(torch.float64))
    for _ in range(3):
        torch.testing.assert_close(traced(x + 1), net(x + 1))
    expected = torch.autograd.grad(net(x).sum(), list(net.parameters()))
    actual = torch.autograd.grad(traced(x).sum(), list(traced.parameters()))
    torch.testing.assert_close(actual, expected)


@check(
    called_by="torch/jit/_serialization.py: load",
    without="scripted models cannot be brought to the device from a file",
)
def a_saved_module_is_loaded_where_it_should_be(backend: Backend) -> None:
    """A scripted module that was saved is loaded to where it was, to the device from the CPU, and
    to the CPU, by map_location."""
    net, x = made(backend)
    expected = net(x).cpu()
    for source in (backend.device, torch.device("cpu")):
        scripted = torch.jit.script(net.to(source))
        file = io.BytesIO()
        torch.jit.save(scripted, file)
        for target in (None, backend.device, torch.device("cpu"), str(backend.device)):
            file.seek(0)
            loaded = torch.jit.load(file, map_location=target)
            device = source if target is None else torch.device(target)
            is_there(loaded, device)
            torch.testing.assert_close(loaded(x.to(device)).cpu(), expected)
    net.to(backend.device)


@check(called_by="torch/jit/_freeze.py: freeze", without="models cannot be frozen for use")
def a_frozen_module_runs(backend: Backend) -> None:
    """A frozen module has no parameters any more and gives what the module gives."""
    net, x = made(backend)
    frozen = torch.jit.freeze(torch.jit.script(net))
    assert not list(frozen.parameters())
    for _ in range(3):
        torch.testing.assert_close(frozen(x), net(x))


@check(
    called_by="torch/jit/_script.py: script", without="scripted functions ask for devices in vain"
)
def scripts_know_the_device(backend: Backend) -> None:
    """A script may ask a tensor for its device, make tensors there, and take a device as an
    argument."""
    need_device(backend)

    def function(x: torch.Tensor, device: torch.device) -> torch.Tensor:
        y = torch.zeros(2, device=device)
        if x.device == device:
            return y + x.to(device)
        return y - 1

    scripted = torch.jit.script(function)
    x = torch.ones(2, device=backend.device)
    for _ in range(3):
        y = scripted(x, backend.device)
        assert y.tolist() == [1, 1] and y.device == backend.device
        assert scripted(torch.ones(2), backend.device).tolist() == [-1, -1]


@check(
    called_by="torch/jit/_script.py: RecursiveScriptModule",
    without="a scripted module cannot be moved to the device",
)
def a_scripted_module_is_moved(backend: Backend) -> None:
    """A scripted module moves to the device and back, with its buffers."""
    torch.manual_seed(0)
    net = Net().eval()
    x = torch.randn(3, 4)
    expected = net(x)
    scripted = torch.jit.script(net).to(backend.device)
    is_there(scripted, backend.device)
    torch.testing.assert_close(scripted(x.to(backend.device)).cpu(), expected)
    is_there(scripted.cpu(), torch.device("cpu"))
    torch.testing.assert_close(scripted(x), expected)
