"""torch.export: programs of modules on the device."""

from __future__ import annotations

import io

import torch
from torch import nn
from torch.export import Dim, export, load, save
from torch.export.passes import move_to_device_pass

from ..backend import Backend
from ..check import check


class Net(nn.Module):
    """A convolution, a normalization, attention and a tensor that is made inside."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(4, 8, 3, padding=1)
        self.norm = nn.LayerNorm(8)
        self.linear = nn.Linear(8, 2)
        self.register_buffer("offset", torch.full((2,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.convolution(x).mT).relu()
        y = nn.functional.scaled_dot_product_attention(y, y, y)
        return self.linear(y).softmax(-1) + self.offset + torch.ones(2, device=x.device)


def made(backend: Backend) -> tuple[Net, torch.Tensor]:
    torch.manual_seed(0)
    return Net().to(backend.device).eval(), torch.randn(3, 4, 6, device=backend.device)


def devices_of(program: torch.export.ExportedProgram) -> set[torch.device]:
    """Of its parameters and buffers, and of what its operators give."""
    found = {tensor.device for tensor in program.state_dict.values()}
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            found.add(value.device)
    return found


@check(
    called_by="torch/export/__init__.py: export",
    without="models on the device cannot be exported",
)
def an_exported_program_runs(backend: Backend) -> None:
    """The program of a module, strict and not, is on the device and gives what the module gives."""
    net, x = made(backend)
    for strict in (False, True):
        program = export(net, (x,), strict=strict)
        assert devices_of(program) == {backend.device}, devices_of(program)
        torch.testing.assert_close(program.module()(x + 1), net(x + 1))
        assert program.module()(x).device == backend.device


@check(
    called_by="torch/export/dynamic_shapes.py: Dim",
    without="exported programs take one size of batch",
    level="standard",
)
def a_dynamic_batch_is_exported(backend: Backend) -> None:
    """A program with a dynamic dimension takes other sizes."""
    net, x = made(backend)
    program = export(net, (x,), dynamic_shapes=({0: Dim("batch", min=1, max=16)},))
    for size in (1, 3, 9):
        y = torch.randn(size, 4, 6, device=backend.device)
        torch.testing.assert_close(program.module()(y), net(y))


@check(
    called_by="torch/export/__init__.py: save",
    without="exported programs cannot be kept",
)
def an_exported_program_is_saved_and_loaded(backend: Backend) -> None:
    """A program that was saved and loaded is on the device and gives the same."""
    net, x = made(backend)
    file = io.BytesIO()
    save(export(net, (x,)), file)
    file.seek(0)
    program = load(file)
    assert devices_of(program) == {backend.device}, devices_of(program)
    torch.testing.assert_close(program.module()(x), net(x))


@check(
    called_by="torch/export/passes/__init__.py: move_to_device_pass",
    without="programs that were exported on another machine cannot be used",
)
def a_program_of_the_cpu_is_moved_to_the_device(backend: Backend) -> None:
    """move_to_device_pass brings a program of the CPU to the device, with the tensors that it makes
    inside, and back."""
    net, x = made(backend)
    expected = net(x).cpu()
    program = move_to_device_pass(export(net.cpu(), (x.cpu(),)), str(backend.device))
    assert devices_of(program) == {backend.device}, devices_of(program)
    result = program.module()(x)
    assert result.device == backend.device
    torch.testing.assert_close(result.cpu(), expected)
    back = move_to_device_pass(program, "cpu")
    torch.testing.assert_close(back.module()(x.cpu()), expected)


@check(
    called_by="torch/export/exported_program.py: run_decompositions",
    without="compilers that want few operators do not get them",
)
def a_program_is_decomposed(backend: Backend) -> None:
    """run_decompositions gives a program of core operators that gives the same on the device."""
    net, x = made(backend)
    program = export(net, (x,)).run_decompositions()
    assert devices_of(program) == {backend.device}, devices_of(program)
    torch.testing.assert_close(program.module()(x), net(x))
    names = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert "aten.linear.default" not in names, "nothing was decomposed"


@check(
    called_by="torch/export/__init__.py: export",
    without="programs of training cannot be exported",
    level="standard",
)
def an_exported_program_trains(backend: Backend) -> None:
    """The program's module has the gradients of the module that was exported."""
    net, x = made(backend)
    program = export(net, (x,)).module()
    net(x).square().sum().backward()
    program(x).square().sum().backward()
    ours = dict(program.named_parameters())
    for name, parameter in net.named_parameters():
        gradient = ours[name].grad
        assert gradient.device == backend.device
        torch.testing.assert_close(gradient, parameter.grad)
