"""Nested tensors on the device: batches of parts of different lengths, strided and jagged."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F

from ..backend import Backend
from ..check import check, variants

LENGTHS = (3, 1, 4)
LAYOUTS = {"strided": torch.strided, "jagged": torch.jagged}


def parts(device: torch.device | str = "cpu") -> list[torch.Tensor]:
    return [
        (torch.arange(6.0 * length).reshape(length, 6) / 10 + length).to(device)
        for length in LENGTHS
    ]


def nested(device: torch.device | str, layout: torch.layout, **options: object) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's word that they are in beta
        return torch.nested.nested_tensor(parts(), layout=layout, device=device, **options)


def each(x: torch.Tensor) -> list[torch.Tensor]:
    return [part.detach().cpu() for part in x.unbind()]


def same(actual: torch.Tensor, expected: torch.Tensor, device: torch.device) -> None:
    assert actual.device == device, f"the result is on {actual.device}"
    torch.testing.assert_close(each(actual), each(expected))


def is_made_and_moved(backend: Backend, layout: torch.layout) -> None:
    """A nested tensor is made on the device of lists and of the device's tensors, has its parts
    there, is padded, and moves to the CPU and back."""
    x = nested(backend.device, layout)
    assert x.device == backend.device and x.is_nested and x.layout == layout
    assert all(part.device == backend.device for part in x.unbind())
    torch.testing.assert_close(each(x), parts())
    again = torch.nested.as_nested_tensor(parts(backend.device), layout=layout)
    assert again.device == backend.device
    torch.testing.assert_close(each(again), parts())
    padded = torch.nested.to_padded_tensor(x, 0.0)
    assert padded.shape == (3, 4, 6) and padded.device == backend.device
    torch.testing.assert_close(
        padded.cpu(), torch.nested.to_padded_tensor(nested("cpu", layout), 0.0)
    )
    moved = x.cpu()
    assert moved.device.type == "cpu" and moved.is_nested
    torch.testing.assert_close(each(moved.to(backend.device)), parts())
    if backend.count > 1:
        assert x.to(backend.other_device).device == backend.other_device


def computes(backend: Backend, layout: torch.layout) -> None:
    """Operators on nested tensors give what the CPU gives, part for part."""
    calls: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "relu": lambda x: (x - 3).relu() if layout == torch.jagged else x.relu(),
        "scalar": lambda x: x * 2,
        "sum of two": lambda x: x + x,
        "linear": lambda x: F.linear(x, torch.ones(2, 6, device=x.device)),
        "matmul": lambda x: torch.matmul(x, x.transpose(1, 2))
        if layout == torch.strided
        else torch.matmul(x, torch.ones(6, 2, device=x.device)),
        "softmax": lambda x: x.softmax(-1),
        "layer_norm": lambda x: F.layer_norm(
            x, (6,), torch.ones(6, device=x.device), torch.zeros(6, device=x.device)
        ),
        "clone": lambda x: x.clone(),
        "transpose": lambda x: x.transpose(1, 2),
    }
    for call in calls.values():
        same(call(nested(backend.device, layout)), call(nested("cpu", layout)), backend.device)


def is_differentiated(backend: Backend, layout: torch.layout) -> None:
    """A gradient flows through a nested tensor to its parts."""
    results = []
    for device in ("cpu", backend.device):
        leaves = [part.requires_grad_() for part in parts(device)]
        x = torch.nested.as_nested_tensor(leaves, layout=layout)
        y = F.linear(x * x, torch.ones(2, 6, device=device))
        torch.nested.to_padded_tensor(y, 0.0).sum().backward()
        assert all(leaf.grad.device == torch.device(device) for leaf in leaves)
        results.append([leaf.grad.cpu() for leaf in leaves])
    torch.testing.assert_close(results[1], results[0])


def keeps_its_memory(backend: Backend, layout: torch.layout) -> None:
    """The parts of a nested tensor, and its buffer, keep their memory when it is gone."""
    x = nested(backend.device, layout)
    kept, buffer = x.unbind(), x.values()
    del x
    others = [torch.full((66,), -1.0, device=backend.device) for _ in range(8)]
    torch.testing.assert_close([part.cpu() for part in kept], parts())
    torch.testing.assert_close(buffer.reshape(-1).cpu(), torch.cat(parts()).reshape(-1))
    del others


def attends(backend: Backend, layout: torch.layout) -> None:
    """Attention over parts of different lengths gives what it gives for each part alone."""
    x = nested(backend.device, layout)
    q = x.view(3, -1, 2, 3).transpose(1, 2)
    if layout == torch.strided:
        q = q.contiguous()
    y = F.scaled_dot_product_attention(q, q, q).transpose(1, 2)
    for part, result in zip(parts(), y.unbind(), strict=True):
        alone = part.unflatten(-1, (2, 3)).transpose(0, 1)[None]
        expected = F.scaled_dot_product_attention(alone, alone, alone)[0].transpose(0, 1)
        assert result.device == backend.device
        torch.testing.assert_close(result.cpu(), expected)


def layouts(function: Callable[[Backend, torch.layout], None], without: str) -> list:
    place = "torch/nested/__init__.py: nested_tensor"
    return variants(
        check(called_by=place, without=without)(function),
        function,
        {name: (layout,) for name, layout in LAYOUTS.items()},
    )


made = layouts(is_made_and_moved, "batches of different lengths cannot be put on the device")
computed = layouts(computes, "models over batches of different lengths fail")
differentiated = layouts(is_differentiated, "models over batches of different lengths cannot train")
kept = layouts(keeps_its_memory, "parts of nested tensors become other numbers")
attended = layouts(attends, "transformers need padding")
