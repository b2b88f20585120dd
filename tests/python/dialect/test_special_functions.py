"""dialect/special.h, compiled for the host: every function in float32 and float64 against float64
references, which are torch.special on the CPU or, where that is wrong, another formula."""

import math
import shutil
import subprocess

import pytest
import torch
from torch import special

from . import points, references
from .elementwise import INCLUDE, Module, source

pytestmark = pytest.mark.any_runtime

# How far results may be from the reference, for float32 and float64, in epsilons of the type: of
# the value, or of points.least_size if that is larger. It is about twice what was found. In float64
# the reference's error is in it too.
ONE_ARGUMENT = {
    "airy_ai": (25, 40),
    "bessel_j0": (6, 40),  # in float64, the reference's integral has oscillating terms
    "bessel_j1": (6, 40),
    "bessel_y0": (20, 40),  # up to 5, a difference of two functions that grow
    "bessel_y1": (20, 40),
    "digamma": (20, 12),  # a sum of 12 terms
    "entr": (2, 2),
    "erfcx": (7, 15),
    "erfinv": (6, 6),
    "i0": (8, 8),
    "i0e": (8, 8),
    "i1": (20, 20),  # the Chebyshev series at 8 is 15 times smaller than its largest term
    "i1e": (20, 20),
    "log_ndtr": (5, 15),
    "modified_bessel_i0": (8, 8),
    "modified_bessel_i1": (20, 20),
    "modified_bessel_k0": (12, 12),
    "modified_bessel_k1": (7, 7),
    "ndtr": (5, 15),
    "ndtri": (5, 5),
    "scaled_modified_bessel_k0": (12, 12),
    "scaled_modified_bessel_k1": (7, 7),
    "sinc": (2, 2),
    "spherical_bessel_j0": (2, 2),
    "trigamma": (8, 10),
}
# Errors of polynomials grow with the degree, which is up to 30: linearly in the formulas with a
# cosine or a sine, and with its square in recurrences next to 1 and -1, the reference's too.
TWO_ARGUMENTS = {
    "chebyshev_polynomial_t": (60, 15),
    "chebyshev_polynomial_u": (60, 30),
    "chebyshev_polynomial_v": (80, 30),
    "chebyshev_polynomial_w": (80, 30),
    "hermite_polynomial_h": (200, 200),
    "hermite_polynomial_he": (20, 20),
    "igamma": (12, 5e6),  # PyTorch has a pi of float32 in its asymptotic expansion
    "igammac": (12, 5e6),
    "laguerre_polynomial_l": (20, 20),
    "legendre_polynomial_p": (250, 150),
    "polygamma": (12, 30),
    "shifted_chebyshev_polynomial_t": (60, 15),
    "shifted_chebyshev_polynomial_u": (60, 20),
    "shifted_chebyshev_polynomial_v": (80, 300),
    "shifted_chebyshev_polynomial_w": (80, 30),
    "xlog1py": (2, 2),
    "xlogy": (2, 2),
    "zeta": (10, 10),
}
ARITIES = dict.fromkeys(ONE_ARGUMENT, 1) | dict.fromkeys(TWO_ARGUMENTS, 2)


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    return Module(ARITIES, tmp_path_factory.mktemp("special"))


def assert_near(name, result, expected, inputs, tolerance):
    """`tolerance` is in units of the epsilon of the result's type, `expected` is float64."""
    limits = torch.finfo(result.dtype)
    inputs = [each.double() for each in inputs]
    size = points.least_size(name, expected, *inputs).maximum(expected.abs())
    error = (result.double() - expected).abs() / size.clamp(min=limits.tiny) / limits.eps
    rounded = expected.to(result.dtype)
    same = (result == rounded) | (result.isnan() & expected.isnan())
    # On the last steps before infinity either is right.
    same |= (result.abs().minimum(rounded.abs()) > 0.999 * limits.max) & (result * rounded > 0)
    error = error.nan_to_num(nan=torch.inf).masked_fill(same, 0)
    worst = error.argmax().item()
    print(f"{name} {result.dtype}: {error[worst]:.3g} epsilons")  # pytest -rP shows it
    if error[worst] > tolerance:
        at = ", ".join(f"{each[worst].item():.9g}" for each in inputs)
        pytest.fail(
            f"{name}({at}) is {result[worst].item():.17g} and should be "
            f"{expected[worst].item():.17g}: {error[worst]:.3g} epsilons, not {tolerance}"
        )


def reference(name):
    name = name.removeprefix("shifted_")
    return getattr(references, name, None) or getattr(special, name, None) or getattr(torch, name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ONE_ARGUMENT)
def test_function_of_one_argument(call, name, dtype):
    x = points.of_one(name, dtype)
    tolerance = ONE_ARGUMENT[name][dtype == torch.float64]
    assert_near(name, call(name, x), reference(name)(x.double()), [x], tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", TWO_ARGUMENTS)
def test_function_of_two_arguments(call, name, dtype):
    x, y = points.of_two(name, dtype)
    result = call(name, x, y)
    if name.startswith("shifted_"):
        x = x + x - 1  # in the type of x, as in PyTorch: its rounding is no error of ours
    tolerance = TWO_ARGUMENTS[name][dtype == torch.float64]
    expected = reference(name)(x.double(), y.double())
    assert_near(name, result, expected, [x, y], tolerance)


def test_igammac_of_an_integer_is_a_poisson_sum(call):
    """Tighter than PyTorch's, also in the expansion for large a, which begins at 200."""
    for a in (1, 5, 20, 21, 150, 200, 201, 300, 1000, 3000):
        x = torch.cat([torch.linspace(0.02, 2, 100) * a, a + torch.linspace(-3, 3, 51)]).double()
        x = x[x > 0]
        k = torch.arange(a, dtype=torch.float64)
        # a log(x) - x is large: what matters is its difference from k log(k) - k.
        middle = (x / a - 1 - (x / a).log()) * -a
        shares = (k - a) * (x[:, None] / a).log() + (k * math.log(a) - a - (k + 1).lgamma())
        upper = (shares + middle[:, None]).exp().sum(-1)
        result = call("igammac", torch.full_like(x, a), x)
        torch.testing.assert_close(result, upper, rtol=3e-13 * a**0.5 + 1e-13, atol=1e-300)
        lower = call("igamma", torch.full_like(x, a), x)
        torch.testing.assert_close(lower, 1 - upper, rtol=0, atol=3e-13 * a**0.5)


INF, NAN = math.inf, math.nan
AT_THE_EDGE = [
    ("digamma", (-INF,), NAN),
    ("digamma", (-3,), NAN),
    ("digamma", (0.0,), -INF),
    ("digamma", (-0.0,), INF),
    ("trigamma", (INF,), 0),
    ("trigamma", (-2,), INF),
    ("trigamma", (-INF,), NAN),
    ("polygamma", (-1, 2), NAN),
    ("polygamma", (3, -1), INF),
    ("polygamma", (2, -1), -INF),
    ("zeta", (1, 5), INF),
    ("zeta", (0.5, 5), NAN),
    ("zeta", (2.5, -0.5), NAN),
    ("zeta", (2.5, -1), INF),
    ("zeta", (2, -1e6 - 0.5), math.pi**2),  # PyTorch adds a million terms
    ("zeta", (2, 1e30), 1e-30),
    ("zeta", (2, INF), 0),
    ("zeta", (1e30, -0.5), INF),
    ("polygamma", (2, INF), 0),
    ("igamma", (0, 0), NAN),
    ("igamma", (0, 1), 1),
    ("igamma", (1, 0), 0),
    ("igamma", (INF, INF), NAN),
    ("igamma", (INF, 1), 0),
    ("igamma", (1, INF), 1),
    ("igamma", (-1, 1), NAN),
    ("igamma", (1e10, 1e10), 0.5 + 1.3298e-6),
    ("igamma", (INF, NAN), 0),
    ("igamma", (NAN, 0), 0),
    ("igamma", (NAN, 3), NAN),
    ("igamma", (3, NAN), NAN),
    ("igammac", (3, NAN), NAN),
    ("igammac", (0, 0), NAN),
    ("igammac", (1e-30, 1e-3), 6.3315e-30),  # 1e-30 E1(0.001)
    ("igammac", (INF, 1), 1),
    ("i0", (INF,), NAN),
    ("i0", (-90,), 5.13924e37),
    ("i0e", (-INF,), 0),
    ("modified_bessel_k0", (INF,), 0),
    ("modified_bessel_k1", (-1,), NAN),
    ("bessel_j0", (INF,), NAN),
    ("bessel_y1", (0,), -INF),
    ("airy_ai", (-INF,), NAN),
    ("airy_ai", (1e30,), 0),
    ("spherical_bessel_j0", (-INF,), 0),
    ("sinc", (INF,), NAN),
    ("sinc", (-3,), 0),
    ("hermite_polynomial_h", (1, 1000), NAN),
    ("hermite_polynomial_he", (1, 1000), NAN),
    *[(name, (0.5, n), 0) for name in TWO_ARGUMENTS if "poly" in name and name != "polygamma"
      for n in (INF, -INF, NAN, -1)],
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_at_the_edge(call, dtype):
    wrong = []
    for name, at, value in AT_THE_EDGE:
        result = call(name, *[torch.tensor([each], dtype=dtype) for each in at]).item()
        if result != pytest.approx(value, rel=2e-5, abs=0, nan_ok=True):
            wrong.append(f"{name}{at} is {result} and should be {value}")
    assert not wrong


OPENCL = shutil.which("clang") or shutil.which("clang-14")


@pytest.mark.skipif(OPENCL is None, reason="needs clang, which reads OpenCL C")
@pytest.mark.parametrize("has_f64", [False, True])
def test_opencl_reads_the_text_and_float32_has_no_double(tmp_path, has_f64):
    text = tmp_path / "special.cl"
    text.write_text(source(ARITIES), encoding="utf-8")
    flags = ["-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-Werror=double-promotion"]
    define = ["-DHAS_F64"] if has_f64 else []
    output = ["-emit-llvm", "-S", "-o", "-"]
    command = [OPENCL, "-target", "spir64", *flags, f"-I{INCLUDE}", *define, *output, text]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "map_zeta_f32" in done.stdout
    assert ("double" in done.stdout) == has_f64
