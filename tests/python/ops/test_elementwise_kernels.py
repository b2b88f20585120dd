"""Elementwise operators and reductions in place: to the bit the CPU's, in each of their forms."""

import pytest
import torch

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


def rand(*size, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(size, generator=generator) * 3).to(dtype)


def assert_alike(call):
    """Makes a call with what puts tensors in their place, on both sides."""
    try:
        expected = call(lambda tensor: tensor.clone())
    except Exception as refused:
        with pytest.raises(type(refused)):
            call(lambda tensor: tensor.acme())
        return
    result = call(lambda tensor: tensor.acme())
    assert result.is_acme
    assert (result.dtype, result.stride()) == (expected.dtype, expected.stride())
    torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0, equal_nan=True)


def every_second(tensor):
    return tensor.repeat_interleave(2, -1)[..., ::2]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ONE)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_of_one_tensor(name, dtype):
    function = found(name)
    for x in (rand(4, 5, dtype=dtype), rand(37, dtype=dtype), rand(1, dtype=dtype)[0]):
        assert_alike(lambda on, x=x: function(on(x)))
        assert_alike(lambda on, x=x: function(every_second(on(x)) if x.dim() else on(x)))
    assert_alike(lambda on: function(on(rand(4, 5, dtype=dtype)).t()))
    assert_alike(lambda on: function(on(rand(0, 5, dtype=dtype))))
    in_place = getattr(torch.Tensor, name.rpartition(".")[2] + "_", None)
    if in_place is not None:
        assert_alike(lambda on: in_place(on(rand(4, 5, dtype=dtype))))
        assert_alike(lambda on: in_place(on(rand(4, 5, dtype=dtype)).t()[1:]))


# CUDA's take no CPU tensor at all.
NONE_OF_THE_CPU = {"igamma", "igammac", "logaddexp", "logaddexp2", "nextafter"}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", TWO)
def test_of_two_tensors(name, dtype):
    function = found(name)
    x, y = rand(4, 5, dtype=dtype), rand(4, 5, dtype=dtype, seed=1)
    x[0] = y[0]
    for other in (y, y[0], y[:, :1], y[0, 0], y.double() if dtype.is_floating_point else y):
        assert_alike(lambda on, other=other: function(on(x), on(other)))
        assert_alike(lambda on, other=other: function(on(other), on(x)))
    assert_alike(lambda on: function(on(x).t(), on(y).t()))
    if name in NONE_OF_THE_CPU:
        with pytest.raises(RuntimeError, match="on the same device"):
            function(x.acme(), y[0, 0])
    else:
        assert_alike(lambda on: function(on(x), y[0, 0]))  # a CPU tensor without dimensions
    in_place = getattr(torch.Tensor, name.rpartition(".")[2] + "_", None)
    if in_place is not None:
        for other in (y, y[0], y[0, 0]):
            assert_alike(lambda on, other=other: in_place(on(x), on(other)))
        assert_alike(lambda on: in_place(on(x)[0], on(y)))  # would have to grow


NUMBERS = [2, 0, -1, 0.5, 1 / 3, 2**24 + 1, 1e300, float("nan"), True, 1j]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["eq", "ge", "gt", "le", "lt", "ne", "pow", "fmod", "remainder"])
def test_of_a_tensor_and_a_number(name, dtype):
    x = rand(4, 5, dtype=dtype)
    x[0, :3] = torch.tensor([2, 0, 1]).to(dtype)
    x[1, 0] = torch.tensor(1 / 3).to(dtype)
    if dtype in (torch.float32, torch.float64):
        x[2, 0] = 2.0**24
    for number in NUMBERS:
        assert_alike(lambda on, number=number: found(name)(on(x), number))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_of_several_arguments(dtype):
    x, y, z = (rand(4, 5, dtype=dtype, seed=seed) for seed in range(3))
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
        assert_alike(call)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "linalg.vector_norm"])
def test_reductions(name, dtype):
    function = found(name)
    x = rand(4, 5, 6, dtype=dtype)
    for dims in ((0,), (1, 2), (-1,), (0, 1, 2), (0, 0), (3,)):
        for keeps in (False, True):
            assert_alike(lambda on, d=dims, k=keeps: function(on(x), dim=d, keepdim=k))
    assert_alike(lambda on: function(on(x).transpose(0, 2), dim=1))
    large = rand(30, 5, 70, 5, dtype=dtype)
    assert_alike(lambda on: function(on(large), dim=(0, 2)))
    assert_alike(lambda on: function(on(x[:0]), dim=1))
    assert_alike(lambda on: function(on(x[:0]), dim=0))
    assert_alike(lambda on: function(on(x[0, 0, 0]), dim=0))
    if name != "amax" and name != "amin":
        assert_alike(lambda on: function(on(x), dim=1, dtype=torch.float64))
    if name == "linalg.vector_norm":
        for order in (0, 1, 2, 3.5, float("inf"), -float("inf")):
            assert_alike(lambda on, o=order: function(on(x), o, dim=1))
            assert_alike(lambda on, o=order: function(on(x), o, dim=0, keepdim=True))


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
