"""Elementwise operators in place: to the bit the CPU's, in each of their forms."""

import pytest
import torch
import torch.nn.functional as F

from .conftest import assert_equals_the_cpu, rand, wide

pytestmark = pytest.mark.turns_on_memory

ONE = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "digamma", "erf",
    "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac", "i0", "lgamma", "log", "log10",
    "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sgn", "sigmoid", "sign", "sin",
    "sinc", "sinh", "sqrt", "tan", "tanh", "trunc", "signbit", "nn.functional.hardsigmoid",
    "nn.functional.mish", "nn.functional.silu", "nn.functional.softplus",
    "nn.functional.softshrink", "nn.functional.hardshrink", "nn.functional.elu",
    "nn.functional.leaky_relu", "special.airy_ai", "special.bessel_j0", "special.bessel_j1",
    "special.bessel_y0", "special.bessel_y1", "special.entr", "special.erfcx", "special.i0e",
    "special.i1", "special.i1e", "special.log_ndtr", "special.modified_bessel_i0",
    "special.modified_bessel_i1", "special.modified_bessel_k0", "special.modified_bessel_k1",
    "special.ndtri", "special.scaled_modified_bessel_k0", "special.scaled_modified_bessel_k1",
    "special.spherical_bessel_j0",
]  # fmt: skip
TWO = [
    "atan2", "copysign", "eq", "fmax", "fmin", "fmod", "ge", "gt", "heaviside", "hypot",
    "igamma", "igammac", "le", "logaddexp", "logaddexp2", "lt", "maximum", "minimum", "mul",
    "ne", "nextafter", "pow", "remainder", "special.xlog1py", "special.zeta", "xlogy",
]  # fmt: skip
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32]
DTYPES += [torch.complex64]


def found(name):
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    return function


def every_second(tensor):
    return tensor.repeat_interleave(2, -1)[..., ::2]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ONE)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_of_one_tensor(name, dtype):
    function = found(name)
    for x in (wide(4, 5, dtype=dtype), wide(37, dtype=dtype), wide(1, dtype=dtype)[0]):
        assert_equals_the_cpu(lambda on, x=x: function(on(x)))
        assert_equals_the_cpu(lambda on, x=x: function(every_second(on(x)) if x.dim() else on(x)))
    assert_equals_the_cpu(lambda on: function(on(wide(4, 5, dtype=dtype)).t()))
    assert_equals_the_cpu(lambda on: function(on(wide(0, 5, dtype=dtype))))
    in_place = getattr(torch.Tensor, name.rpartition(".")[2] + "_", None)
    if in_place is not None:
        assert_equals_the_cpu(lambda on: in_place(on(wide(4, 5, dtype=dtype))))
        assert_equals_the_cpu(lambda on: in_place(on(wide(4, 5, dtype=dtype)).t()[1:]))


# CUDA's take no CPU tensor at all.
NONE_OF_THE_CPU = {"igamma", "igammac", "logaddexp", "logaddexp2", "nextafter"}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", TWO)
def test_of_two_tensors(name, dtype):
    function = found(name)
    x, y = wide(4, 5, dtype=dtype), wide(4, 5, dtype=dtype, seed=1)
    x[0] = y[0]
    for other in (y, y[0], y[:, :1], y[0, 0], y.double() if dtype.is_floating_point else y):
        assert_equals_the_cpu(lambda on, other=other: function(on(x), on(other)))
        assert_equals_the_cpu(lambda on, other=other: function(on(other), on(x)))
    assert_equals_the_cpu(lambda on: function(on(x).t(), on(y).t()))
    if name in NONE_OF_THE_CPU:
        with pytest.raises(RuntimeError, match="on the same device"):
            function(x.acme(), y[0, 0])
    else:
        assert_equals_the_cpu(
            lambda on: function(on(x), y[0, 0])
        )  # a CPU tensor without dimensions
    in_place = getattr(torch.Tensor, name.rpartition(".")[2] + "_", None)
    if in_place is not None:
        for other in (y, y[0], y[0, 0]):
            assert_equals_the_cpu(lambda on, other=other: in_place(on(x), on(other)))
        assert_equals_the_cpu(lambda on: in_place(on(x)[0], on(y)))  # would have to grow


NUMBERS = [2, 0, -1, 0.5, 1 / 3, 2**24 + 1, 1e300, float("nan"), True, 1j]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["eq", "ge", "gt", "le", "lt", "ne", "pow", "fmod", "remainder"])
def test_of_a_tensor_and_a_number(name, dtype):
    x = wide(4, 5, dtype=dtype)
    x[0, :3] = torch.tensor([2, 0, 1]).to(dtype)
    x[1, 0] = torch.tensor(1 / 3).to(dtype)
    if dtype in (torch.float32, torch.float64):
        x[2, 0] = 2.0**24
    for number in NUMBERS:
        assert_equals_the_cpu(lambda on, number=number: found(name)(on(x), number))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_of_several_arguments(dtype):
    x, y, z = (wide(4, 5, dtype=dtype, seed=seed) for seed in range(3))
    for call in (
        lambda on: torch.addcmul(on(x), on(y), on(z), value=0.5),
        lambda on: torch.addcmul(on(x), on(y), on(z[0]), value=2),
        lambda on: torch.addcmul(on(x), on(y), 1.0 * z[0, 0], value=2),
        lambda on: on(x).addcmul_(on(y), on(z), value=2),
        lambda on: on(x)[0].addcmul_(on(y), on(z)),
        lambda on: torch.addcdiv(on(x), on(y), on(z), value=2),
        lambda on: on(x).addcdiv_(on(y), on(z), value=2),
        lambda on: torch.lerp(on(x), on(y), 0.3),
        lambda on: torch.lerp(on(x), on(y), on(z)),
        lambda on: on(x).lerp_(on(y), 0.3),
        lambda on: on(x).lerp_(on(y), on(z)),
        lambda on: torch.clamp_max(on(x), 0.5),
        lambda on: torch.abs(on(x).t()),
        lambda on: on(x)[1:].abs_(),
        lambda on: torch.abs(on(x), out=on(y[:0])),
        lambda on: torch.abs(on(x), out=on(y.double())),
        lambda on: torch.where(on(y > z), on(x), on(y)),
        lambda on: torch.where(on(y[0] > z[0]), on(x), on(y[:, :1])),
        lambda on: torch.where(on(y > z), on(x), 2),
        lambda on: torch.where(on(y > z), on(x), on(y.double())),
        lambda on: torch.where(on(y > z), on(x), y[0, 0]),
        lambda on: torch.where(on(z), on(x), on(y)),
        lambda on: on(x).masked_fill_(on(y > z), 2),
        lambda on: on(x).t().masked_fill_(on(y[:, 0] > z[:, 0]), 2.5),
        lambda on: on(x).masked_fill(on(y > z), 1j),
        lambda on: on(x)[0].masked_fill_(on(y > z), 1),
        lambda on: on(x).masked_fill_(on(z), 1),
        lambda on: torch.div(on(x), on(y), rounding_mode="floor"),
        lambda on: torch.div(on(x), on(y[0]), rounding_mode="trunc"),
        lambda on: torch.div(on(x), 2, rounding_mode="floor"),
        lambda on: on(x).div_(on(y), rounding_mode="floor"),
        lambda on: on(x).floor_divide_(on(y)),
        lambda on: on(x) // on(y),
        lambda on: on(x).clamp_min_(1),
        lambda on: torch.threshold(on(x), 0.1, 20),
        lambda on: torch.nn.functional.threshold_(on(x), 0.1, 20),
        lambda on: torch.nn.functional.elu(on(x), 0.7, inplace=True),
    ):
        assert_equals_the_cpu(call)


# Each takes the function that puts its tensors where they are to be.
CALLS = {
    "rsub": lambda on: torch.rsub(on(rand(3, 4)), on(rand(4)), alpha=2),
    "rsub, two dtypes": lambda on: torch.rsub(on(rand(3)), on(rand(3).int())),
    "floor_divide": lambda on: on(rand(3, 4)) // on(rand(4)),
    "floor_divide, a number": lambda on: on(rand(3, 4)) // 0.3,
    "floor_divide, two dtypes": lambda on: on(rand(3, 4)) // on(rand(4).double()),
    "floor_divide, sizes": lambda on: on(rand(3, 4)) // on(rand(3)),
    "clamp": lambda on: on(rand(3, 4)).clamp(-0.5, 0.5),
    "clamp, one side": lambda on: on(rand(3, 4)).t().clamp(max=0.5),
    "clamp to nan": lambda on: on(rand(3, 4)).clamp(float("nan"), 1),
    "clamp of integers by a fraction": lambda on: on(rand(3).int()).clamp(0.5),
    "clamp, no side": lambda on: on(rand(3)).clamp(),
    "clamp_": lambda on: on(rand(3, 4)).clamp_(-0.5, 0.5),
    "clamp by tensors": lambda on: on(rand(3, 4)).clamp(on(rand(4)), on(rand(3, 1)) + 1),
    "clamp by a tensor": lambda on: on(rand(3, 4)).clamp(max=on(rand(4))),
    "clamp by another dtype": lambda on: on(rand(3, 4)).clamp(on(rand(4).double())),
    "clamp by one number of a tensor's": lambda on: on(rand(3, 4)).clamp(on(rand(1)[0])),
    "clamp_ by tensors": lambda on: on(rand(3, 4)).clamp_(on(rand(4)), on(rand(3, 4)) + 1),
    "clamp_ by larger tensors": lambda on: on(rand(4)).clamp_(on(rand(3, 4)), on(rand(4))),
    "clamp_min by a tensor": lambda on: on(rand(3, 4)).clamp_min(on(rand(4))),
    "clamp_max by a tensor": lambda on: on(rand(3, 4)).clamp_max(on(rand(4).double())),
    "cross": lambda on: torch.linalg.cross(on(rand(4, 3)), on(rand(1, 3))),
    "hardtanh": lambda on: F.hardtanh(on(rand(3, 4)), -0.2, 0.3),
    "hardtanh, in place": lambda on: F.hardtanh(on(rand(3, 4)), inplace=True),
    "hardtanh of integers": lambda on: F.hardtanh(on(rand(3, 4).int())),
    "hardtanh of bools": lambda on: F.hardtanh(on(rand(3)) > 0),
    "relu6": lambda on: F.relu6(on(rand(3, 4)) * 9),
    "hardswish": lambda on: F.hardswish(on(rand(3, 4)).t()),
    "hardswish, in place": lambda on: F.hardswish(on(rand(3, 4)).t(), inplace=True),
    "complex": lambda on: torch.complex(on(rand(3, 1)), on(rand(4))),
    "complex of half": lambda on: torch.complex(on(rand(3).half()), on(rand(3).half())),
    "complex of bfloat16": lambda on: torch.complex(on(rand(3).bfloat16()), on(rand(3).bfloat16())),
    "complex of two dtypes": lambda on: torch.complex(on(rand(3)), on(rand(3).double())),
    "polar": lambda on: torch.polar(on(rand(3, 4)).t(), on(rand(4, 1))),
    "angle": lambda on: on(rand(3, 4)).angle(),
    "angle of complex": lambda on: on(rand(3).cfloat() * 1j).conj().angle(),
    "isnan": lambda on: on(rand(3, 4)).log().isnan(),
    "isposinf": lambda on: (on(rand(3, 4)) / 0).isposinf(),
    "logical_and": lambda on: torch.logical_and(on(rand(3, 4)), on(rand(4)).relu()),
    "logical_or of masks": lambda on: (on(rand(3)) > 0).logical_or(on(rand(3)) > 1),
    "logical_xor of two dtypes": lambda on: torch.logical_xor(on(rand(3)), on(rand(3).int())),
    "logical_and of an index": lambda on: torch.logical_and(on(rand(3)), on(rand(3).long())),
    "logical_or of a mask": lambda on: torch.logical_or(on(rand(3)), on(rand(3) > 0)),
    "logical_not": lambda on: on(rand(3, 4)).relu().logical_not_(),
    "logical_not to integers": lambda on: torch.logical_not(
        on(rand(3)).relu(), out=on(torch.ones(3).long())
    ),
    "logical_and to floats": lambda on: torch.logical_and(
        on(rand(3)).relu(), on(rand(3)), out=on(rand(3))
    ),
    "nan_to_num": lambda on: on(rand(3, 4)).log().nan_to_num(7),
    "nan_to_num to bools": lambda on: torch.nan_to_num(on(rand(3)), out=on(rand(3) > 0)),
    "logit": lambda on: on(rand(3, 4)).logit(0.1),
    "round to two places": lambda on: on(rand(3, 4)).round(decimals=2),
    "round_ to tens": lambda on: (on(rand(3, 4)) * 99).round_(decimals=-1),
    "polygamma": lambda on: torch.polygamma(2, on(rand(3, 4))),
    "polygamma of integers": lambda on: torch.polygamma(1, on(torch.tensor([1, 2]))),
    "prelu": lambda on: F.prelu(on(rand(2, 3, 4)), on(rand(3))),
    "glu": lambda on: F.glu(on(rand(3, 4)), 0 - 1),
    "glu, odd": lambda on: F.glu(on(rand(3, 4)), 0),
    "chebyshev": lambda on: torch.special.chebyshev_polynomial_t(on(rand(3)), on(rand(3).abs())),
    "arange": lambda on: torch.arange(0, 3, 0.5, out=on(rand(6))),
    "arange of integers": lambda on: torch.arange(2, 9, 3, out=on(torch.zeros(0).long())),
    "arange, every second": lambda on: torch.arange(3, out=on(torch.zeros(6).long())[::2]),
    "linspace": lambda on: torch.linspace(0, 1, 5, out=on(rand(5))),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_equals_the_cpu(call, put):
    assert_equals_the_cpu(call, put)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool, torch.int64, torch.uint8], ids=str)
def test_item(dtype):
    for number in (0, 1, 2.5, 200):
        x = torch.tensor(number).to(dtype)
        for value in (x.acme().item(), x.acme().expand(3, 4)[1:2, 2].item()):
            assert type(value) is type(x.item())
            assert value == x.item()


def test_item_of_views():
    x = torch.tensor([1 + 2j, 3 - 4j])
    assert x.acme().conj()[1].item() == 3 + 4j
    assert x.acme().conj().imag[0].item() == -2.0
    with pytest.raises(RuntimeError, match="elements cannot be converted to Scalar"):
        x.acme().item()
    assert torch._efficientzerotensor((1,), device="acme").item() == 0


def test_item_waits_for_the_stream():
    x, ones = torch.zeros(1 << 20, device="acme"), torch.ones(1 << 20, device="acme")
    for _ in range(20):
        x.copy_(ones)
        assert x[-1].item() == 1
        x.zero_()
        assert x[-1].item() == 0
