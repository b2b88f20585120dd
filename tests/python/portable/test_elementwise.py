"""Elementwise operators, copies and choices by a mask, by PyTorch's own samples."""

import functools

import pytest
import torch
from dialect.conftest import BACKEND

from portable.samples import check, close, operators

pytestmark = pytest.mark.turns_on_kernels

EVERYDAY = (
    "add sub mul div exp log sqrt tanh sigmoid neg abs maximum eq lt where masked_fill clamp pow "
    "nn.functional.relu nn.functional.gelu nn.functional.silu addcmul addcdiv lerp to clone"
)
OTHERS = """
acos acosh addr angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not
bitwise_or bitwise_right_shift bitwise_xor ceil clamp_max clamp_min conj_physical contiguous
copysign cos cosh deg2rad digamma erf erfc erfinv exp2 expm1 fill floor floor_divide fmax fmin fmod
frac frexp full_like gcd ge gt heaviside hypot i0 igamma igammac isfinite isinf isnan isneginf
isposinf lcm ldexp le lgamma log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
logical_or logical_xor logit minimum nan_to_num ne nextafter nn.functional.celu nn.functional.elu
nn.functional.hardshrink nn.functional.hardsigmoid nn.functional.hardswish nn.functional.leaky_relu
nn.functional.mish nn.functional.prelu nn.functional.relu6 nn.functional.selu nn.functional.softplus
nn.functional.softshrink nn.functional.softsign nn.functional.tanhshrink nn.functional.threshold
ones_like rad2deg reciprocal remainder round rsqrt rsub sgn sign signbit sin sinc sinh
special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1
special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v
special.chebyshev_polynomial_w special.entr special.erfcx special.hermite_polynomial_h
special.hermite_polynomial_he special.i0e special.i1 special.i1e special.laguerre_polynomial_l
special.legendre_polynomial_p special.log_ndtr special.modified_bessel_i0 special.modified_bessel_i1
special.modified_bessel_k0 special.modified_bessel_k1 special.ndtr special.ndtri
special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1
special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u
special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w
special.spherical_bessel_j0 special.xlog1py special.zeta square tan true_divide trunc xlogy zero_
zeros_like
"""
# A driver that compiles each kernel at its first launch takes a quarter of a second for it.
some = EVERYDAY if BACKEND == "python_opencl" else EVERYDAY + OTHERS
# The CPU rounds to 16 bits on the way: results jump there, or cancel each other.
_ROUNDED_ON_THE_WAY = {"addr", "div.trunc_rounding", "fmod"}


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


needs_f64 = pytest.mark.skipif(BACKEND == "python_opencl", reason="compiles a module of its own")
FLOATS = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    pytest.param(torch.float64, marks=needs_f64),
]
floats = pytest.mark.parametrize("dtype", FLOATS, ids=str)
SPECIALS = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
]
POLYNOMIALS = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]


@needs_f64
def test_float64_keeps_its_precision(on_device):
    a = torch.linspace(-3, 3, 61, dtype=torch.float64, requires_grad=True)
    x = a.detach().acme().requires_grad_()
    for function in (
        torch.nn.functional.gelu,
        lambda t: torch.nn.functional.gelu(t, approximate="tanh"),
        lambda t: torch.logaddexp2(t, t + 1),
        lambda t: torch.angle(t) + t,
        lambda t: torch.logit(t, 0.1),
    ):
        got, want = function(x), function(a)
        torch.testing.assert_close(got.cpu(), want, rtol=1e-14, atol=1e-14)
        got, want = (torch.autograd.grad(y.sum(), t)[0] for y, t in ((got, x), (want, a)))
        torch.testing.assert_close(got.cpu(), want, rtol=1e-13, atol=1e-13)


@floats
@pytest.mark.parametrize("name", SPECIALS[:2] if BACKEND == "python_opencl" else SPECIALS)
def test_special_functions(name, dtype, on_device):
    function = getattr(torch.special, name)
    exact = torch.linspace(0.1, 9, 60, dtype=torch.float64).view(6, 10)
    a = exact.to(dtype)
    want = function(a.double()).to(dtype)  # the CPU has no 16-bit kernels
    x = a.acme()
    turned = torch.empty(10, 6, dtype=dtype, device="acme").t()
    function(x, out=turned)
    for got in (function(x), function(x.t()).t(), turned):
        close(got, want, dtype)
    whole = torch.arange(1, 7)
    close(function(whole.acme()), function(whole), torch.float32)


@floats
@pytest.mark.parametrize("name", POLYNOMIALS[:2] if BACKEND == "python_opencl" else POLYNOMIALS)
def test_polynomials(name, dtype, on_device):
    function = getattr(torch.special, name)
    a = torch.linspace(-1.2, 1.2, 40).to(dtype).view(8, 5)
    degrees = torch.arange(5, dtype=torch.int32)
    x, n = a.acme(), degrees.acme()

    def scaled(t):
        return t.cpu() / 8  # of values up to 250, in the type's precision

    want = function(a.double(), degrees).to(dtype)
    close(scaled(function(x, n)), scaled(want), dtype)
    close(scaled(function(x.t(), n.view(5, 1))), scaled(want.t()), dtype)
    close(scaled(function(x, 3)), scaled(function(a.double(), 3).to(dtype)), dtype)
    close(scaled(function(0.75, n)), scaled(function(0.75, degrees)), torch.float32)
    out = torch.empty(8, 5, dtype=dtype, device="acme")
    assert function(x, n, out=out) is out
    close(scaled(out), scaled(want), dtype)


@floats
def test_the_next_number(dtype, on_device):
    numbers = torch.finfo(dtype)
    edges = [0.0, 1.0, -1.0, 3.1, numbers.tiny, -numbers.tiny, numbers.max, numbers.min]
    edges += [numbers.smallest_normal / 4, numbers.smallest_normal * 1.75, torch.inf, -torch.inf]
    edges += [torch.nan]
    a = torch.tensor(edges, dtype=dtype)
    first, second = a.repeat(len(a)), a.repeat_interleave(len(a))
    want = torch.nextafter(first, second)
    got = torch.nextafter(first.acme(), second.acme())
    assert torch.equal(got.cpu().nan_to_num(nan=7), want.nan_to_num(nan=7))
    spread = torch.stack([first, first], 1).acme()[:, 0]  # by strides
    spread.nextafter_(second.acme())
    assert torch.equal(spread.cpu().nan_to_num(nan=7), want.nan_to_num(nan=7))


@floats
def test_fractions_and_exponents(dtype, on_device):
    a = torch.tensor([0.0, -0.0, 1.0, -3.0, 6e-5, 1e-40, 1e4, torch.inf, -torch.inf, torch.nan])
    a = a.to(dtype)
    for tensor in (a, a.view(2, 5).t()):
        (fraction, exponent), want = torch.frexp(tensor.acme()), torch.frexp(tensor)
        torch.testing.assert_close(fraction.cpu(), want[0], rtol=0, atol=0, equal_nan=True)
        assert exponent.dtype == torch.int32
        assert torch.equal(exponent.cpu(), want[1])
    whole = torch.tensor([0, 5, -300, 20, -20, 140, 1], dtype=torch.int64)
    b = torch.tensor([1.0, -2.5, 1.0, 1e-3, 3.0, 1e-30, torch.nan]).to(dtype)
    want = torch.ldexp(b, whole)
    got = torch.ldexp(b.acme(), whole.acme())
    torch.testing.assert_close(got.cpu(), want, rtol=0, atol=0, equal_nan=True)
    out = torch.empty(2, 7, dtype=dtype, device="acme")
    torch.ldexp(b.acme(), whole.acme().expand(2, 7), out=out)
    torch.testing.assert_close(out.cpu(), want.expand(2, 7), rtol=0, atol=0, equal_nan=True)
    for exponents in (b.float() / 2, torch.tensor(3)):
        want = torch.ldexp(b, exponents)
        got = torch.ldexp(b.acme(), exponents.acme() if exponents.dim() else exponents)
        close(got, want, dtype)
    back = b.acme().ldexp_(whole.acme())
    torch.testing.assert_close(back.cpu(), torch.ldexp(b, whole), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("eps", [None, 0.1, 0.0])
@floats
def test_logit(eps, dtype, on_device):
    a = torch.tensor([-0.5, 0.0, 0.05, 0.5, 0.75, 0.95, 1.0, 1.5, torch.nan]).to(dtype)
    x = a.acme().requires_grad_()
    a.requires_grad_()
    got, want = torch.logit(x, eps), torch.logit(a, eps)
    close(got, want, dtype)
    got, want = (torch.autograd.grad(y.sum(), t)[0] for y, t in ((got, x), (want, a)))
    close(got / 4, want / 4, dtype)
    out = torch.empty(2, 9, dtype=dtype, device="acme")
    torch.logit(x.detach().expand(2, 9), eps, out=out)
    close(out, torch.logit(a, eps).expand(2, 9), dtype)
    close(x.detach().clone().logit_(eps), torch.logit(a, eps), dtype)


@floats
def test_sums_with_outer_products(dtype, on_device):
    m, a, b = torch.randn(7, 5).to(dtype), torch.randn(7).to(dtype), torch.randn(5).to(dtype)
    exact = m.double(), a.double(), b.double()
    want = torch.addr(*exact, beta=0.5, alpha=2).to(dtype)
    x, y, z = m.acme(), a.acme(), b.acme()
    close(torch.addr(x, y, z, beta=0.5, alpha=2), want, dtype)
    close(torch.addr(x.t(), z, y, beta=0.5, alpha=2), want.t(), dtype)
    close(x.clone().addr_(y, z, beta=0.5, alpha=2), want, dtype)
    nothing = torch.full((1, 5), torch.nan, dtype=dtype, device="acme")
    close(torch.addr(nothing, y, z, beta=0), torch.outer(exact[1], exact[2]).to(dtype), dtype)


def test_errors_of_sums_with_outer_products(on_device):
    torch.acme.set_fallback_mode("allow")  # the CPU refuses them
    m, a = torch.ones(3, 3, dtype=torch.int64, device="acme"), torch.ones(3, device="acme")
    with pytest.raises(RuntimeError, match="must not be a floating point number"):
        torch.addr(m, m[0], m[0], beta=0.5)
    with pytest.raises(RuntimeError, match="Boolean beta only"):
        torch.addr(m, m[0], m[0], beta=True)
    with pytest.raises(RuntimeError, match="1-D"):
        torch.addr(m, m, a)


def test_sums_above_zero(on_device):
    add_relu = torch.ops.aten._add_relu
    a, b = torch.tensor([100, -100, 100, 3]), torch.tensor([100, -100, -100, 4])
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64, torch.float32):
        c, d = a.to(dtype), b.to(dtype)
        want = add_relu.Tensor(c, d, alpha=1)
        assert torch.equal(add_relu.Tensor(c.acme(), d.acme(), alpha=1).cpu(), want)
        out = torch.empty_like(c.acme())
        assert torch.equal(add_relu.out(c.acme(), d.acme(), out=out).cpu(), want)
        x = c.acme()
        torch.ops.aten._add_relu_.Tensor(x, d.acme())
        assert torch.equal(x.cpu(), want)
    infinite = torch.tensor([torch.inf, -torch.inf])
    got = add_relu.Tensor(infinite.acme(), infinite.acme())
    assert torch.equal(got.cpu(), add_relu.Tensor(infinite, infinite))


@floats
def test_angles_and_conjugates_of_real_numbers(dtype, on_device):
    a = torch.tensor([0.0, -0.0, 1.5, -2.0, torch.inf, -torch.inf, torch.nan]).to(dtype)
    close(torch.angle(a.acme()), torch.angle(a), dtype)
    close(torch.angle(a.acme()[::2]), torch.angle(a)[::2], dtype)
    for whole in (torch.tensor([3, 0, -4]), torch.tensor([True, False])):
        close(torch.angle(whole.acme()), torch.angle(whole), torch.float32)
    x = a.acme()
    out = torch.empty_like(x)
    assert x.conj_physical_() is x
    close(torch.conj_physical(x, out=out), a, dtype)


@floats
def test_tangents_of_gates(dtype, on_device):
    a, b = torch.randn(4, 6).to(dtype), torch.randn(4, 6).to(dtype)
    for dim in (0, -1):
        gate = functools.partial(torch.nn.functional.glu, dim=dim)
        got = torch.func.jvp(gate, (a.acme(),), (b.acme(),))
        want = torch.func.jvp(gate, (a.double(),), (b.double(),))  # the CPU has no 16-bit kernel
        for mine, theirs in zip(got, want, strict=True):
            close(mine, theirs.to(dtype), dtype)


def test_truth_values_and_signs_of_zero(on_device):
    truth = torch.tensor([True, False])
    assert torch.equal((~truth.acme()).cpu(), ~truth)
    zeros = torch.tensor([-0.0, 0.0, -1.5])
    assert not torch.abs(zeros.acme()).cpu().signbit().any()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32], ids=str)
def test_numbers_have_the_dtype_of_the_tensor_beside_them(dtype, on_device):
    limits = torch.iinfo(dtype)
    x = torch.tensor([0, 3, limits.min, limits.max]).to(dtype)
    for number in (-1, limits.max + 3, 2**40 + 5):
        for function in (torch.lt, torch.eq, torch.maximum, torch.fmod):
            other = torch.tensor(number)
            assert torch.equal(function(x.acme(), other.acme().cpu()).cpu(), function(x, other))
    assert torch.equal(x.acme().clamp(-1, None).cpu(), x.clamp(-1, None))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_comparisons_round_the_number_and_sums_do_not(dtype, on_device):
    x = torch.full((3,), 0.3, dtype=dtype)
    assert (x.acme() == 0.3).all()
    assert torch.equal((x.acme() + 0.3).cpu(), x + 0.3)
    assert torch.equal((x.acme() * 1.001).cpu(), x * 1.001)


def test_numbers_that_do_not_fit_are_refused():
    x = torch.arange(6, dtype=torch.uint8)
    calls = [
        lambda x: x.masked_fill(x > 2, 300),
        lambda x: x[::2].fill_(300),
        lambda x: x.clamp(max=300),
        lambda x: torch.add(x, x, alpha=300),
        lambda x: torch.nn.functional.threshold(x, 1, 300),
        lambda x: x.half().masked_fill(x > 2, 1e6),
        lambda x: x.float()[::2].fill_(1e300),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="cannot be converted to type") as want:
            call(x)
        with pytest.raises(RuntimeError) as got:
            call(x.acme())
        assert str(got.value) == str(want.value)


def test_a_result_of_a_wider_dtype_gets_values_of_the_common_one(on_device):
    x = torch.tensor([0, 1, 200, 255], dtype=torch.uint8)
    for dtype in (torch.int64, torch.float32, torch.float16):
        out, want = torch.empty(4, dtype=dtype, device="acme"), torch.empty(4, dtype=dtype)
        torch.sub(x.acme(), 2, out=out)
        assert torch.equal(out.cpu(), torch.sub(x, 2, out=want))
        torch.add(x.acme() > 1, x.acme() > 0, out=out)
        assert torch.equal(out.cpu(), torch.add(x > 1, x > 0, out=want))
    halves = torch.rand(40).half()
    out = torch.empty(40, device="acme")
    torch.mul(halves.acme(), halves.acme(), out=out)
    assert torch.equal(out.cpu(), (halves * halves).float())


def test_functions_are_as_exact_as_float64_is(on_device):
    x, y = torch.randn(2, 50, dtype=torch.float64).unbind()
    for function in (
        torch.nn.functional.gelu,
        lambda t: torch.nn.functional.gelu(t, approximate="tanh"),
        lambda t: torch.logaddexp2(t, y.to(t.device)),
    ):
        found = []
        for place in (x, x.acme()):
            leaf = place.clone().requires_grad_()
            result = function(leaf)
            # The derivative of logaddexp2 is composed of operators without portable kernels.
            found.append((result, torch.autograd.grad(result.sum(), leaf)[0]))
        for want, got in zip(*found, strict=True):
            torch.testing.assert_close(got.cpu(), want, rtol=1e-13, atol=1e-13)


def test_a_choice_between_two_numbers_of_the_cpu(on_device):
    x, number = torch.randn(5), torch.tensor(0.5)
    got = torch.where(x.acme() > 0, number, 2 * number)
    assert torch.equal(got.cpu(), torch.where(x > 0, number, 2 * number))


def test_what_pytorch_refuses_has_its_words():
    x, mask = torch.zeros(5), torch.ones(4, 5, dtype=torch.bool)
    with pytest.raises(RuntimeError, match=r"output with shape .* doesn't match the broadcast"):
        x.acme().masked_fill_(mask.acme(), 1)
    out = torch.empty(5, dtype=torch.float16, device="acme")
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Half"):
        torch._C._nn.log_sigmoid(x.acme(), out=out)


def test_integers_have_no_nan_in_any_memory(on_device):
    x = torch.ones(3, dtype=torch.int64, device="acme").expand(2, 3)
    assert torch.equal(x.nan_to_num_().cpu(), torch.ones(2, 3, dtype=torch.int64))


def test_truth_values_are_refused_as_the_cpu_refuses_them():
    x = torch.tensor([[True, False], [True, True]])
    calls = [
        lambda x: x.ceil(),
        lambda x: x.clamp(True),
        lambda x: x % True,
        lambda x: x // x,
        lambda x: x**x,
        lambda x: x << x,
        lambda x: torch.gcd(x, x),
        lambda x: torch.addcmul(x, x, x),
        lambda x: x.trace(),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="not implemented for 'Bool'") as want:
            call(x)
        with pytest.raises(RuntimeError) as got:
            call(x.acme())
        assert str(got.value) == str(want.value)


def test_numbers_beside_truth_values_are_truth_values(on_device):
    x = torch.tensor([True, False, True, False])
    assert torch.equal(torch.add(x.acme(), x.acme(), alpha=-1).cpu(), torch.add(x, x, alpha=-1))
    assert x.acme()[1::2].fill_(0.5).all()


def test_numbers_have_the_bits_of_the_dtype_beside_integers(on_device):
    values = {
        torch.int8: torch.tensor([-128, -3, 0, 44, 100, 127], dtype=torch.int8),
        torch.uint8: torch.tensor([0, 1, 44, 253, 255], dtype=torch.uint8),
        torch.int16: torch.tensor([-32768, 0, 5, 32767], dtype=torch.int16),
        torch.int32: torch.tensor([-(2**31), 0, 5, 2**31 - 1], dtype=torch.int32),
    }
    for number in (300, -3, 2**40 + 5):
        for dtype, a in values.items():
            x = a.acme()
            for function in (torch.eq, torch.lt, torch.ge, torch.add, torch.floor_divide):
                got = function(x, number).cpu()
                assert torch.equal(got, function(a, number)), (function, dtype, number)


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        (torch.int8, 300),
        (torch.uint8, 300),
        (torch.int16, -(2**15) - 1),
        (torch.int32, 2**40),
        (torch.float16, -1e300),
        (torch.bfloat16, 1e300),
        (torch.float32, 1e300),
    ],
    ids=str,
)
def test_numbers_that_the_dtype_cannot_hold_are_refused(dtype, number, on_device):
    torch.acme.set_fallback_mode("allow")  # the CPU's kernel has the error
    x = torch.ones(3, dtype=dtype, device="acme")
    for function in (
        lambda: x.masked_fill(x > 0, number),
        lambda: x.clamp(min=number),
        lambda: x.clamp(max=number),
        lambda: torch.add(x, x, alpha=number),
    ):
        with pytest.raises(RuntimeError, match="cannot be converted to type"):
            function()
    # float('-inf') is no such number.
    if dtype.is_floating_point:
        assert x.masked_fill(x > 0, float("-inf")).isneginf().all()


def test_a_number_without_a_value_is_none_of_integers(on_device):
    torch.acme.set_fallback_mode("allow")
    x = torch.ones(3, dtype=torch.int64, device="acme")
    for number in (float("nan"), float("inf"), 1e300):
        with pytest.raises(RuntimeError, match="cannot be converted to type"):
            torch.nn.functional.threshold(x, number, 0)


def test_multiples_of_the_smallest_integer(on_device):
    smallest = torch.tensor([-(2**63)], device="acme")
    # The CPU's kernel ends the process here.
    assert torch.lcm(smallest, torch.tensor([7], device="acme")).item() == -(2**63)


def test_the_power_of_minus_one_half_is_a_reciprocal_root(on_device):
    a = torch.tensor([0.0, -0.0, 4.0, -torch.inf, torch.inf])
    torch.testing.assert_close(a.acme().pow(-0.5).cpu(), a.pow(-0.5), equal_nan=True)
