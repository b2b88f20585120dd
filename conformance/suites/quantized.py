"""Quantized tensors on the device, and the operators that quantize."""

from __future__ import annotations

import warnings

import torch

from ..backend import Backend
from ..check import Skipped, Unsupported, check


def numbers() -> torch.Tensor:
    return torch.arange(24.0).reshape(4, 6) / 4 - 2


def by_tensor(x: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's word that they will go
        return torch.quantize_per_tensor(x, 0.25, 10, torch.quint8)


def by_channel(x: torch.Tensor) -> torch.Tensor:
    scales = torch.tensor([0.25, 0.5, 0.125, 1.0], dtype=torch.float64, device=x.device)
    zeros = torch.tensor([0, 1, 2, 3], device=x.device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8)


@check(
    called_by="torch/ao/nn/quantized/modules/__init__.py: Quantize",
    without="quantized models cannot be put on the device",
)
def tensors_are_quantized(backend: Backend) -> None:
    """quantize_per_tensor gives the CPU's whole numbers, scale and zero point, on the device, and
    dequantize the numbers they stand for."""
    for dtype in (torch.quint8, torch.qint8, torch.qint32):
        x = numbers()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = torch.quantize_per_tensor(x, 0.25, 10, dtype)
            actual = torch.quantize_per_tensor(x.to(backend.device), 0.25, 10, dtype)
        assert actual.device == backend.device and actual.dtype == dtype and actual.is_quantized
        assert (actual.q_scale(), actual.q_zero_point()) == (0.25, 10)
        whole = actual.int_repr()
        assert whole.device == backend.device and torch.equal(whole.cpu(), expected.int_repr())
        assert torch.equal(actual.dequantize().cpu(), expected.dequantize())


@check(
    called_by="torch/ao/nn/quantized/modules/utils.py: _quantize_weight",
    without="models that are quantized by channel cannot be put on the device",
)
def channels_are_quantized(backend: Backend) -> None:
    """quantize_per_channel gives the CPU's whole numbers, scales and zero points, on the device."""
    expected, actual = by_channel(numbers()), by_channel(numbers().to(backend.device))
    assert actual.device == backend.device and actual.q_per_channel_axis() == 0
    assert actual.q_per_channel_scales().device == backend.device
    assert torch.equal(actual.q_per_channel_scales().cpu(), expected.q_per_channel_scales())
    assert torch.equal(actual.int_repr().cpu(), expected.int_repr())
    assert torch.equal(actual.dequantize().cpu(), expected.dequantize())


@check(
    called_by="torch/_tensor.py: __deepcopy__",
    without="quantized models cannot be moved",
)
def quantized_tensors_are_moved(backend: Backend) -> None:
    """A quantized tensor moves to the CPU and to the device with its numbers and its scales."""
    # The scales of channels are kept in float64.
    for make in (by_tensor, by_channel) if backend.has(torch.float64) else (by_tensor,):
        expected = make(numbers())
        there = expected.to(backend.device)
        assert there.device == backend.device and there.is_quantized
        assert there.qscheme() == expected.qscheme()
        assert torch.equal(there.dequantize().cpu(), expected.dequantize())
        back = make(numbers().to(backend.device)).cpu()
        assert torch.equal(back.int_repr(), expected.int_repr())


@check(
    called_by="torch/include/ATen/quantized/QTensorImpl.h: QTensorImpl",
    without="views of quantized tensors become other numbers",
)
def views_of_quantized_tensors_keep_their_memory(backend: Backend) -> None:
    """Views of a quantized tensor keep its memory and its scale when the tensor is gone."""
    x = by_tensor(numbers().to(backend.device))
    kept = {
        "slice": (x[1:], numbers()[1:]),
        "transpose": (x.t(), numbers().t()),
        "view": (x.view(-1), numbers().view(-1)),
        "select": (x[2], numbers()[2]),
        "detach": (x.detach(), numbers()),
    }
    del x
    others = [torch.full((24,), 7, dtype=torch.uint8, device=backend.device) for _ in range(8)]
    for name, (view, expected) in kept.items():
        assert view.is_quantized and view.q_scale() == 0.25, name
        assert torch.equal(view.dequantize().cpu(), expected), f"{name}: other numbers"
    del others


@check(
    called_by="torch/ao/quantization/fake_quantize.py: FakeQuantize",
    without="models cannot be trained for quantization",
)
def quantization_is_faked(backend: Backend) -> None:
    """fake_quantize by tensor and by channel gives the CPU's numbers and gradients."""
    scales, zeros = torch.tensor([0.25, 0.5, 0.1, 1.0]), torch.zeros(4, dtype=torch.int32)
    results = []
    for device in ("cpu", backend.device):
        x = (numbers() * 3).to(device).requires_grad_()
        y = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 63)
        z = torch.fake_quantize_per_channel_affine(
            x, scales.to(device), zeros.to(device), 0, -16, 15
        )
        assert y.device == z.device == torch.device(device)
        (y.sum() + 2 * z.sum()).backward()
        results.append((y.detach().cpu(), z.detach().cpu(), x.grad.cpu()))
    torch.testing.assert_close(results[1], results[0])


@check(
    called_by="torch/ao/quantization/quantize.py: quantize_dynamic",
    without="models cannot be quantized as they are",
    level="standard",
)
def models_are_quantized_dynamically(backend: Backend) -> None:
    """A linear layer that is quantized dynamically gives on the device what it gives on the
    CPU."""
    try:
        from torch.ao.quantization import quantize_dynamic
    except ImportError as error:
        raise Skipped(f"this torch has no quantize_dynamic: {error}") from error
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(6, 3)), {torch.nn.Linear})
    expected = net(numbers())
    try:
        actual = net(numbers().to(backend.device))
    except NotImplementedError:
        raise
    except RuntimeError as error:
        raise Unsupported(f"quantized::linear_dynamic: {str(error).splitlines()[0]}") from error
    assert actual.device == backend.device
    torch.testing.assert_close(actual.cpu(), expected)
