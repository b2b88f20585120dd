"""Fake tensors: the device's operators without numbers and without memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_flatten

from ..apart import need_device
from ..backend import Backend
from ..check import check, variants

CALLS: dict[str, Callable[[torch.Tensor], object]] = {
    "add": lambda x: x + 1,
    "a scalar of the CPU's": lambda x: x * torch.tensor(3.0),
    "mm": lambda x: x @ x.t(),
    "relu": lambda x: x.relu(),
    "comparison": lambda x: x > 0,
    "sum": lambda x: x.sum(1, keepdim=True),
    "mean in double": lambda x: x.mean(dtype=torch.float64),
    "max": lambda x: x.max(0),
    "sort": lambda x: x.sort(1),
    "topk": lambda x: x.topk(2),
    "var_mean": lambda x: torch.var_mean(x, 0),
    "transpose": lambda x: x.t(),
    "slice": lambda x: x[1:, ::2],
    "expand": lambda x: x[:1].expand(5, -1),
    "reshape": lambda x: x.t().reshape(-1),
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x]),
    "index": lambda x: x[torch.tensor([0, 2], device=x.device)],
    "gather": lambda x: x.gather(1, torch.zeros(4, 2, dtype=torch.int64, device=x.device)),
    "where": lambda x: torch.where(x > 0, x, -x),
    "softmax": lambda x: x.softmax(1),
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, (6,)),
    "conv2d": lambda x: torch.conv2d(x[None, None], torch.ones(2, 1, 2, 3, device=x.device)),
    "max_pool2d": lambda x: torch.nn.functional.max_pool2d(x[None, None], 2),
    "batch_norm": lambda x: torch.nn.functional.batch_norm(x, None, None, training=True),
    "linear": lambda x: torch.nn.functional.linear(x, torch.ones(3, 6, device=x.device)),
    "embedding": lambda x: torch.nn.functional.embedding(
        torch.tensor([[0, 1]], device=x.device), x
    ),
    "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(
        x[None, None], x[None, None], x[None, None]
    ),
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.5),
    "bernoulli": lambda x: torch.bernoulli(x.abs().clamp(0, 1)),
    "rand_like": lambda x: torch.rand_like(x),
    "zeros": lambda x: torch.zeros(2, 3, device=x.device),
    "arange": lambda x: torch.arange(5, device=x.device),
    "full in int": lambda x: torch.full((3,), 7, device=x.device),
    "new_empty": lambda x: x.new_empty(2, 2),
    "empty_strided": lambda x: torch.empty_strided((3, 2), (1, 3), device=x.device),
    "to half": lambda x: x.half(),
    "to the CPU": lambda x: x.cpu(),
    "to itself": lambda x: x.to(x.device),
    "channels last": lambda x: x.reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    "in place": lambda x: x.clone().add_(1).mul_(2),
    "out=": lambda x: torch.add(x, x, out=torch.empty(0, device=x.device)),
    "fft": lambda x: torch.fft.rfft(x),
    "complex": lambda x: torch.view_as_real(torch.complex(x, x)),
    "svd": lambda x: torch.linalg.svd(x, full_matrices=False),
    "solve": lambda x: torch.linalg.solve(x @ x.t() + 9 * torch.eye(4, device=x.device), x),
    "cumsum": lambda x: x.cumsum(1),
    "pad": lambda x: torch.nn.functional.pad(x, (1, 2)),
    "interpolate": lambda x: torch.nn.functional.interpolate(x[None, None], scale_factor=2),
    "foreach": lambda x: torch._foreach_add([x, x], 1),
    "lstm": lambda x: torch.lstm(
        x[None],
        [torch.zeros(1, 1, 3, device=x.device)] * 2,
        [
            torch.ones(12, 6, device=x.device),
            torch.ones(12, 3, device=x.device),
            torch.ones(12, device=x.device),
            torch.ones(12, device=x.device),
        ],
        True,
        1,
        0.0,
        False,
        False,
        True,
    ),
}


def metadata(result: object) -> list[tuple]:
    """What is known of a result without its numbers. Strides of no elements or one mean nothing."""
    return [
        (
            tuple(t.shape),
            t.dtype,
            t.device,
            t.layout,
            t.stride() if t.numel() > 1 else None,
            t.requires_grad,
        )
        if isinstance(t, torch.Tensor)
        else t
        for t in tree_flatten(result)[0]
    ]


def fakes_have_the_metadata_of_results(
    backend: Backend, call: Callable[[torch.Tensor], object]
) -> None:
    """A call on fake tensors has the shapes, dtypes, devices and strides that it has on real
    ones."""
    x = torch.rand(4, 6, device=backend.device)
    real = call(x)
    with FakeTensorMode() as mode:
        fake = call(mode.from_tensor(x))
    tensors = [t for t in tree_flatten(fake)[0] if isinstance(t, torch.Tensor)]
    assert tensors and all(isinstance(t, FakeTensor) for t in tensors), "a result is no fake"
    assert metadata(fake) == metadata(real), f"fake {metadata(fake)}, real {metadata(real)}"


operators = variants(
    check(
        called_by="torch/_subclasses/fake_tensor.py: FakeTensorMode",
        without="torch.compile and torch.export make wrong programs",
    )(fakes_have_the_metadata_of_results),
    fakes_have_the_metadata_of_results,
    {name: (call,) for name, call in CALLS.items()},
)


@check(
    called_by="torch/_subclasses/fake_tensor.py: FakeTensor",
    without="compiled programs put their tensors on another device",
)
def fakes_are_on_the_device(backend: Backend) -> None:
    """A fake tensor says that it is on the device, with an index also where none was given, and is
    not on it."""
    torch.ones(1, device=backend.device)
    with FakeTensorMode() as mode:
        for device in (backend.device, str(backend.device)):
            x = torch.empty(3, device=device)
            assert x.device == backend.device and isinstance(x, FakeTensor)
            assert x.fake_device == backend.device
        here = torch.empty(3, device=backend.name)
        assert here.device == backend.device, f"{here.device}, without an index"
        assert (here + x).device == backend.device
        if backend.count > 1:
            there = torch.empty(3, device=backend.other_device)
            assert there.device == backend.other_device and (there + 1).device == there.device
        parameter = torch.nn.Linear(2, 2, device=backend.device).weight
        assert parameter.device == backend.device
        assert mode.from_tensor(torch.ones(2)).device.type == "cpu"


@check(
    called_by="torch/_subclasses/fake_tensor.py: _find_common_device",
    without="mistakes are compiled into programs, and fail far from their cause",
)
def mixed_devices_are_refused(backend: Backend) -> None:
    """Fake tensors of the device and of the CPU, or of two devices, cannot be computed with
    together, as real ones cannot, and a CPU scalar can."""
    need_device(backend)
    devices = ["cpu"] + ([backend.other_device] if backend.count > 1 else [])
    with FakeTensorMode():
        x = torch.empty(3, device=backend.device)
        for device in devices:
            try:
                x + torch.empty(3, device=device)
            except RuntimeError as error:
                assert "device" in str(error).lower(), error
            else:
                raise AssertionError(f"tensors of {backend.device} and {device} were added")
        assert (x + torch.empty((), device="cpu")).device == backend.device


@check(
    called_by="torch/_subclasses/fake_tensor.py: FakeTensorMode",
    without="tracing a large model needs the memory of the model",
)
def fakes_take_no_memory(backend: Backend) -> None:
    """A fake tensor may be larger than the device, and making it takes no memory of the
    device's."""
    need_device(backend)
    torch.accelerator.synchronize(backend.device)
    before = torch.accelerator.memory_allocated(backend.device)
    with FakeTensorMode():
        x = torch.empty(1 << 20, 1 << 20, device=backend.device)
        y = (x + 1) @ x
        assert y.shape == (1 << 20, 1 << 20) and y.device == backend.device
        assert torch.accelerator.memory_allocated(backend.device) == before


@check(
    called_by="torch/_subclasses/fake_tensor.py: FakeTensorMode",
    without="training steps cannot be traced",
)
def a_backward_is_faked(backend: Backend) -> None:
    """A backward over fake tensors gives fake gradients on the device, of each parameter's
    shape."""
    with FakeTensorMode():
        there: dict[str, Any] = {"device": backend.device}
        net = torch.nn.Sequential(
            torch.nn.Linear(4, 3, **there), torch.nn.GELU(), torch.nn.Linear(3, 1, **there)
        )
        net(torch.empty(5, 4, device=backend.device)).sum().backward()
        for parameter in net.parameters():
            gradient = parameter.grad
            assert isinstance(gradient, FakeTensor) and gradient.device == backend.device
            assert gradient.shape == parameter.shape


@check(
    called_by="torch/_meta_registrations.py: activate_meta",
    without="models cannot be made without memory and filled later",
)
def meta_tensors_become_the_devices(backend: Backend) -> None:
    """A tensor of the meta device has the results' shapes, and empty_like(device=) of it is on the
    device."""
    x = torch.empty(3, 4, device="meta")
    y = x @ x.t()
    made = torch.empty_like(y, device=backend.device)
    assert made.shape == (3, 3) and made.device == backend.device
    made.fill_(2)
    assert made.to("meta").device.type == "meta" and made.eq(2).all()
    try:
        x.to(backend.device)
    except NotImplementedError as error:
        assert "meta" in str(error).lower()
    else:
        raise AssertionError("numbers were taken from a tensor that has none")
