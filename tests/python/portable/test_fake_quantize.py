"""Fake quantization and its learnable forms, against the CPU's."""

import pytest
import torch

from portable.samples import close

pytestmark = pytest.mark.turns_on_kernels

aten = torch.ops.aten
floats = pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)


def values() -> torch.Tensor:
    """Of which some lie outside of the range, some half-way between two steps, and one is NaN."""
    made = torch.linspace(-40, 90, 131).view(1, 131).repeat(3, 1) / 4
    made[1, 7] = torch.nan
    return made


def same(function, *tensors: torch.Tensor) -> None:
    got, want = function(*(t.acme() for t in tensors)), function(*tensors)
    got, want = ((one,) if isinstance(one, torch.Tensor) else one for one in (got, want))
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        close(mine, theirs, theirs.dtype)


@floats
def test_of_one_scale(dtype, on_device):
    a = values().to(dtype)
    by_numbers = aten.fake_quantize_per_tensor_affine_cachemask
    for turn in (lambda t: t, lambda t: t.t(), lambda t: t[:, ::2]):
        same(lambda t, turn=turn: by_numbers(turn(t), 0.5, 3, -8, 7), a)
    x = values().to(dtype).acme().requires_grad_()
    torch.fake_quantize_per_tensor_affine(x, 0.5, 3, -8, 7).sum().backward()
    a.requires_grad_()
    torch.fake_quantize_per_tensor_affine(a, 0.5, 3, -8, 7).sum().backward()
    close(x.grad, a.grad, dtype)


@floats
@pytest.mark.parametrize("enabled", [0, 1])
def test_of_tensors_that_the_host_does_not_read(dtype, enabled, on_device):
    function = aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
    a, scale, zero_point = values().to(dtype), torch.tensor([0.5]), torch.tensor([3.7])
    for point in (zero_point, zero_point.int()):
        same(lambda *t: function(*t, -8, 7), a, scale, point, torch.tensor([enabled]))
    same(
        lambda *t: torch.fake_quantize_per_tensor_affine(*t, -8, 7),
        a,
        scale[0],
        zero_point.int()[0],
    )


@floats
@pytest.mark.parametrize("point", [torch.int32, torch.float32, torch.float16], ids=str)
def test_of_channels(dtype, point, on_device):
    scale = torch.tensor([0.5, 0.25, 2.0])
    zero_point = torch.tensor([0.0, -3.0, 1.0] if point == torch.int32 else [0.5, -3.0, 1.5])
    of_channels = aten.fake_quantize_per_channel_affine_cachemask
    for axis in (0, 1):
        same(
            lambda t, *by, axis=axis: of_channels(t.t() if axis == 1 else t, *by, axis, -8, 7),
            *(values().to(dtype), scale, zero_point.to(point)),
        )


@pytest.mark.parametrize("zero_point", [0.0, 2.3, 6.5, 30.0])
def test_learned_scale(zero_point, on_device):
    scale, point = torch.tensor([0.5]), torch.tensor([zero_point])
    forward = aten._fake_quantize_learnable_per_tensor_affine
    backward = aten._fake_quantize_learnable_per_tensor_affine_backward
    a = values()
    same(lambda *t: forward(*t, -8, 7, 0.5), a, scale, point)
    same(lambda *t: backward(*t, -8, 7, 0.5), torch.randn(3, 131), a, scale, point)


def test_learned_scales_of_channels(on_device):
    forward = aten._fake_quantize_learnable_per_channel_affine
    backward = aten._fake_quantize_learnable_per_channel_affine_backward
    scale, point = torch.tensor([0.5, 0.25, 2.0]), torch.tensor([0.5, -30.0, 1.6])
    a, grad = values(), torch.randn(3, 131)
    same(lambda *t: forward(*t, 0, -8, 7, 0.5), a, scale, point)
    same(lambda *t: backward(*t, 0, -8, 7, 0.5), grad, a, scale, point)
    turned = a.view(3, 1, 131).transpose(0, 1)
    of_turned = grad.view(3, 1, 131).transpose(0, 1)
    same(lambda *t: forward(*t, 1, -8, 7, 1.0), turned, scale, point)
    same(lambda *t: backward(*t, 1, -8, 7, 1.0), of_turned, turned, scale, point)


def test_what_the_cpu_refuses(on_device):
    torch.acme.set_fallback_mode("allow")
    x = torch.ones(3, device="acme")
    scale, point = torch.ones(3, device="acme"), torch.tensor([0, 9, 0], dtype=torch.int32).acme()
    with pytest.raises(RuntimeError, match="must be between `quant_min` and `quant_max`"):
        torch.fake_quantize_per_tensor_affine(x, 0.5, 9, 0, 7)
    with pytest.raises(RuntimeError, match="must be between `quant_min` and `quant_max`"):
        torch.fake_quantize_per_channel_affine(x, scale, point, 0, 0, 7)
    with pytest.raises(RuntimeError, match="not consistent with input tensor"):
        torch.fake_quantize_per_channel_affine(x[:2], scale, point, 0, 0, 7)
