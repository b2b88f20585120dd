"""Elementwise operators, copies and choices by a mask, by PyTorch's own samples."""

import pytest
import torch
from dialect.conftest import BACKEND

from portable.samples import check, operators

pytestmark = pytest.mark.turns_on_kernels

EVERYDAY = (
    "add sub mul div exp log sqrt tanh sigmoid neg abs maximum eq lt where masked_fill clamp pow "
    "nn.functional.relu nn.functional.gelu nn.functional.silu addcmul addcdiv lerp to clone"
)
OTHERS = """
acos acosh asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or
bitwise_right_shift bitwise_xor ceil clamp_max clamp_min contiguous copysign cos cosh deg2rad
digamma erf erfc erfinv exp2 expm1 fill floor floor_divide fmax fmin fmod frac full_like gcd ge gt
heaviside hypot i0 igamma igammac isfinite isinf isnan isneginf isposinf lcm le lgamma log10 log1p
log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor minimum nan_to_num ne
nn.functional.celu nn.functional.elu nn.functional.hardshrink nn.functional.hardsigmoid
nn.functional.hardswish nn.functional.leaky_relu nn.functional.mish
nn.functional.prelu nn.functional.relu6 nn.functional.selu nn.functional.softplus
nn.functional.softshrink nn.functional.softsign nn.functional.tanhshrink nn.functional.threshold
ones_like rad2deg reciprocal remainder round rsqrt rsub sgn sign signbit sin sinc sinh
special.entr special.erfcx special.i0e special.i1 special.i1e special.log_ndtr special.ndtr
special.ndtri special.xlog1py special.zeta square tan true_divide trunc xlogy zero_ zeros_like
"""
# A driver that compiles each kernel at its first launch takes a quarter of a second for it.
some = EVERYDAY if BACKEND == "python_opencl" else EVERYDAY + OTHERS
# Their results jump where the CPU rounds to 16 bits on the way.
_ROUNDED_ON_THE_WAY = {"div.trunc_rounding", "fmod"}


@pytest.mark.parametrize(
    ("info", "dtype"),
    [
        pytest.param(info, dtype, id=f"{info.full_name}-{str(dtype).removeprefix('torch.')}")
        for info in operators(some)
        for dtype in (torch.float32, torch.bfloat16, torch.int64)
        if dtype in info.dtypes
        and not (dtype == torch.bfloat16 and info.full_name in _ROUNDED_ON_THE_WAY)
    ],
)
def test_samples(info, dtype, on_device):
    if info.name == "masked_fill":
        torch.acme.set_fallback_mode("allow")  # its derivative counts the mask
    assert check(info, dtype) > 0


OTHER_TYPES = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.bool,
    torch.float16,
    torch.float64,
]


@pytest.mark.parametrize("first", OTHER_TYPES, ids=str)
@pytest.mark.parametrize("second", [torch.int64, torch.float32, torch.bool], ids=str)
def test_types_are_mixed_without_a_cast(first, second, on_device):
    a = torch.arange(-3, 21).to(first).view(4, 6)
    b = torch.arange(24, 0, -1).to(second).view(6, 4)
    if torch.float64 in (first, second) and BACKEND == "python_opencl":
        pytest.skip("compiles a module of its own")
    x, y = a.acme(), b.acme()
    for function in (torch.add, torch.mul, torch.lt, torch.maximum):
        got, want = function(x, y.t()), function(a, b.t())
        assert got.dtype == want.dtype
        torch.testing.assert_close(got.cpu(), want)


@pytest.mark.parametrize(
    "shape", [(), (0,), (1,), (5, 0), (1000,), (33, 70), (2, 3, 4, 5, 6)], ids=str
)
def test_shapes_and_strides(shape, on_device):
    a, b = torch.randn(shape), torch.randn(shape)
    x, y = a.acme(), b.acme()
    order = tuple(reversed(range(len(shape))))
    views = {
        "whole": lambda t: t,
        "reversed": lambda t: t.permute(order),
        "every second": lambda t: t[..., ::2] if t.dim() else t,
        "expanded": lambda t: t[..., :1].expand(t.shape) if t.dim() and t.numel() else t,
    }
    for name, view in views.items():
        torch.testing.assert_close((view(x) + view(y)).cpu(), view(a) + view(b), msg=name)
        torch.testing.assert_close((view(x) * 2.5).cpu(), view(a) * 2.5, msg=name)
        torch.testing.assert_close((1 - view(x)).cpu(), 1 - view(a), msg=name)


def test_results_take_the_place_and_the_strides_that_they_are_given(on_device):
    a, b = torch.randn(6, 4), torch.randn(6, 4)
    x, y = a.acme(), b.acme()
    turned = torch.empty(4, 6, device="acme").t()
    assert torch.add(x, y, alpha=3, out=turned) is turned
    assert turned.stride() == (1, 6)
    torch.testing.assert_close(turned.cpu(), a + 3 * b)
    other = torch.empty(0, dtype=torch.float64, device="acme")
    torch.mul(x, y, out=other)
    torch.testing.assert_close(other.cpu(), (a * b).double())
    x[:, ::2] += y[:, 1::2]
    a[:, ::2] += b[:, 1::2]
    torch.testing.assert_close(x.cpu(), a)
    x.mul_(y.t().contiguous().t()).clamp_(-1, 1)
    torch.testing.assert_close(x.cpu(), (a * b).clamp(-1, 1))


def test_errors_are_pytorchs(on_device):
    x = torch.ones(3, device="acme")
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        x + torch.ones(4, device="acme")
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.ones(3, dtype=torch.int64, device="acme").add_(1.5)
    with pytest.raises(RuntimeError, match="output with shape"):
        x.add_(torch.ones(2, 3, device="acme"))
    with pytest.raises(RuntimeError, match="unsupported operation"):
        x.expand(2, 3).add_(1)
    with pytest.raises(RuntimeError, match="two devices"):
        x + torch.ones(3)


@pytest.mark.parametrize("source", [torch.float32, torch.int64, torch.bool, torch.float16], ids=str)
@pytest.mark.parametrize("target", [torch.bfloat16, torch.int32, torch.uint8, torch.bool], ids=str)
def test_copies_convert_and_follow_strides(source, target, on_device):
    values = torch.arange(0, 60).remainder(7).to(source).view(3, 4, 5)
    got = values.acme().permute(2, 0, 1).to(target)
    torch.testing.assert_close(got.cpu(), values.permute(2, 0, 1).to(target))
    into = torch.zeros(4, 5, 6, dtype=target, device="acme")
    into[1:, :, ::2].copy_(values.acme().permute(0, 2, 1)[..., :3])
    want = torch.zeros(4, 5, 6, dtype=target)
    want[1:, :, ::2].copy_(values.permute(0, 2, 1)[..., :3])
    torch.testing.assert_close(into.cpu(), want)
    into[:, 1].fill_(1)
    want[:, 1].fill_(1)
    torch.testing.assert_close(into.cpu(), want)
