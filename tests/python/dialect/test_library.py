"""The kernels of backend_template/portable against PyTorch's on the CPU: as the device runs them,
and on the host with an item as a fiber, which notices a BARRIER that is missing."""

import ctypes
import math

import pytest
import torch
import torch.nn.functional as F

from dialect.conftest import BACKEND, NAMES, Shape, ceil_div, elementwise_names

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_driver]

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
# What a sum over some hundred values may differ by.
TOLERANCES = {
    torch.float32: {"rtol": 1e-4, "atol": 1e-4},
    torch.float16: {"rtol": 4e-3, "atol": 4e-3},
    torch.bfloat16: {"rtol": 2e-2, "atol": 2e-2},
    torch.int64: {"rtol": 0, "atol": 0},
    torch.bool: {"rtol": 0, "atol": 0},
}
i32 = ctypes.c_int32


def by_x(numbers) -> str:
    """The id of a test's sizes."""
    return "x".join(map(str, numbers))


def types(*dtypes: torch.dtype) -> pytest.MarkDecorator:
    # PoCL compiles each kernel anew, which takes it a quarter of a second.
    late = (torch.float16, torch.bool) if BACKEND == "python_opencl" else ()
    marks = {dtype: [pytest.mark.slow] for dtype in late}
    all_types = [pytest.param(d, marks=marks.get(d, []), id=NAMES[d]) for d in dtypes]
    return pytest.mark.parametrize("dtype", all_types)


floats = types(*FLOATS)
all_types = types(*NAMES)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def values(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0, 2, shape).bool() if dtype == torch.bool else torch.randint(-9, 9, shape)


def on_device(*tensors: torch.Tensor) -> list[torch.Tensor]:
    return [tensor.acme() for tensor in tensors]


def empty(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.full(shape, 1, dtype=dtype, device="acme")


def close(got: torch.Tensor, want: torch.Tensor, **tolerances: float) -> None:
    tolerances = tolerances or TOLERANCES.get(want.dtype, {"rtol": 0, "atol": 0})
    torch.testing.assert_close(got.cpu(), want, equal_nan=True, **tolerances)


# ---- Elementwise

POSITIVE = {"log", "log1p", "sqrt", "rsqrt", "pow", "reciprocal", "div", "fmod"}


def expected(name: str, a: torch.Tensor, b: torch.Tensor, s: float) -> torch.Tensor:
    if name.endswith("_backward"):
        if name == "gelu_backward":
            return torch.ops.aten.gelu_backward(a, b)
        y = b.float()
        if name == "relu_backward":
            return torch.where(y > 0, a, 0)
        factor = {"sigmoid": y * (1 - y), "tanh": 1 - y * y}
        return (a.float() * factor[name.removesuffix("_backward")]).to(a.dtype)
    if name in ("add", "sub"):
        return getattr(torch, name)(a, b, alpha=s)
    if name == "copy":
        return a.clone()
    if name in ("silu", "gelu", "softplus"):
        return getattr(F, name)(a)
    function = getattr(torch, name)
    is_binary = name in {
        n for n, kind in elementwise_names(True) if kind in ("BINARY", "COMPARISON")
    }
    return function(a, b) if is_binary else function(a)


@all_types
def test_elementwise(library, dtype):
    lib = library(dtype)
    n, s = 700, 1.0 if dtype.is_floating_point else 1
    for name, kind in elementwise_names(dtype.is_floating_point):
        if dtype == torch.bool and name in ("sub", "neg", "abs", "relu"):
            continue  # PyTorch refuses them
        a, b = values(dtype, n), values(dtype, n)
        if name in POSITIVE:
            a, b = a.abs() + 0.125, b.abs() + 0.25
        elif dtype.is_floating_point:
            a[7] = math.nan
        want = expected(name, a, b, s)
        out, x, y = empty(n, dtype=want.dtype), *on_device(a, b)
        operands = (x, y) if kind in ("BINARY", "COMPARISON") else (x,)
        lib.launch(f"{name}_{NAMES[dtype]}", 2, n, s, out, *operands)
        close(out, want)


MIXED = [
    ("add", torch.randn(33, 70).t(), torch.randn(33), torch.float32),
    ("mul", torch.randint(-9, 9, (4, 5, 70)), torch.randn(5, 1).half(), torch.float32),
    ("lt", torch.randn(3, 1, 130), torch.randn(4, 1).bfloat16(), torch.float32),
    ("add", torch.randint(0, 99, (50, 60)).int(), torch.randint(0, 9, (60,)).byte(), torch.int64),
    ("maximum", torch.randn(2, 3, 4, 5, 6).permute(4, 0, 3, 1, 2), torch.randn(1), torch.float32),
    ("mul", torch.randn(100, 64).half()[::2, ::3], torch.rand(22) > 0.5, torch.float32),
]


@pytest.mark.parametrize("case", range(len(MIXED)))
@pytest.mark.parametrize("way", ["rows", "any"])
def test_strides_and_mixed_types(library, case, way):
    name, a, b, computed_in = MIXED[case]
    lib, is_floating = library(computed_in), computed_in.is_floating_point
    want = expected(name, a, b, 1)
    x, y = torch.broadcast_tensors(*on_device(a, b))
    out = empty(*want.shape, dtype=want.dtype)
    shape = Shape.of_bytes(out, x, y)
    s = 1.0 if is_floating else 1
    full_name = f"{name}_{way}_{NAMES[computed_in]}"
    if way == "rows":
        inner = want.shape[-1]
        blocks = ceil_div(inner, lib.items)
        lib.launch(full_name, blocks * (want.numel() // inner), shape, blocks, s, out, x, y)
    else:
        lib.launch(full_name, 3, shape, want.numel(), s, out, x, y)
    close(out, want)


# ---- Reductions


@all_types
@pytest.mark.parametrize("gone", [[0], [1], [2], [0, 2], [0, 1, 2]], ids=by_x)
def test_reductions(library, dtype, gone):
    lib = library(dtype)
    x = values(dtype, 4, 7, 90 if lib.is_small else 530)
    if dtype.is_floating_point:
        x *= 0.1
    kept = [d for d in range(3) if d not in gone]
    sizes = [x.size(d) for d in kept] or [1]
    results, n = math.prod(sizes), math.prod(x.size(d) for d in gone)
    kept_shape = Shape.of(sizes, torch.empty(sizes).stride(), [x.stride(d) for d in kept] or [0])
    gone_shape = Shape.of([x.size(d) for d in gone], [0] * 3, [x.stride(d) for d in gone])
    parts = 1 if results > 16 else min(64, ceil_div(n, 256))
    of_partial = torch.float32 if dtype.is_floating_point else torch.int64
    for name in ("sum", "prod", "amax", "amin", *["mean"] * dtype.is_floating_point):
        if name == "prod":  # over one dimension only, in PyTorch
            flat = x.permute(*kept, *gone).reshape(results, n)
            want = flat.float().prod(1).to(dtype) if dtype.is_floating_point else flat.prod(1)
        else:
            want = getattr(torch, name)(x, gone).reshape(results)
        out, partial = empty(results, dtype=want.dtype), empty(results * parts, dtype=of_partial)
        full_name = f"{name}_{NAMES[dtype]}"
        places = kept_shape, gone_shape
        lib.launch(full_name, results * parts, *places, n, parts, partial, out, x.acme())
        if parts > 1:
            again = f"{name}_parts_{NAMES[dtype]}"
            lib.launch(again, results, kept_shape, n, parts, out, partial)
        close(out, want)


@all_types
def test_sum_of_columns(library, dtype):
    x = values(dtype, 30, 177)
    want = x.float().sum(0).to(dtype) if dtype.is_floating_point else x.sum(0)
    out, lib = empty(177, dtype=want.dtype), library(dtype)
    lib.launch(f"sum_columns_{NAMES[dtype]}", ceil_div(177, lib.items), 177, 30, out, x.acme())
    close(out, want)


@all_types
def test_argmax(library, dtype):
    x = values(dtype, 30, 177)
    if dtype.is_floating_point:
        x[3, 5] = math.nan
        x[4, 100] = x[4, 160] = 9
    out, kept = empty(30, dtype=torch.int64), Shape.of([30], [1], [177])
    library(dtype).launch(f"argmax_{NAMES[dtype]}", 30, kept, 177, 1, out, x.acme())
    # Of equal values PyTorch promises none; here it is the first.
    at = torch.arange(177).expand(30, 177)
    is_best = x.isnan() if dtype.is_floating_point else torch.zeros_like(x, dtype=torch.bool)
    most = x.float().amax(1, keepdim=True)
    is_best = torch.where(is_best.any(1, keepdim=True), is_best, x.float() == most)
    close(out, torch.where(is_best, at, 177).amin(1))


@floats
def test_variance(library, dtype):
    x = values(dtype, 30, 177) + 3
    out, kept = empty(30, dtype=dtype), Shape.of([30], [1], [177])
    library(dtype).launch(f"var_{NAMES[dtype]}", 30, kept, 177, 1, 1, out, x.acme())
    close(out, x.float().var(1).to(dtype))


# ---- Rows


@all_types
@pytest.mark.parametrize("shape", [(4, 300, 1), (3, 130, 7), (2, 1, 2)], ids=by_x)
def test_cumsum(library, dtype, shape):
    x = values(dtype, *shape)
    if dtype.is_floating_point:
        x *= 0.1
    want = x.float().cumsum(1).to(dtype) if dtype.is_floating_point else x.cumsum(1)
    out = empty(*shape, dtype=want.dtype)
    rows = shape[0] * shape[2]
    library(dtype).launch(f"cumsum_{NAMES[dtype]}", rows, shape[1], shape[2], out, x.acme())
    close(out, want)


@all_types
@pytest.mark.parametrize("n", [1, 5, 200, 2048])
@pytest.mark.parametrize("down", [0, 1], ids=["ascending", "descending"])
def test_sort(library, dtype, n, down):
    lib = library(dtype)
    if n > 200 and lib.is_small:
        pytest.skip("needs a device: fibers are slow")
    x = values(dtype, 3, n)
    if dtype.is_floating_point:
        x[2, 0] = math.nan
    want, want_places = torch.sort(x, dim=1, descending=bool(down), stable=True)
    out, places = empty(3, n, dtype=dtype), empty(3, n, dtype=torch.int64)
    size = 1 << (n - 1).bit_length()
    given = (n, i32(size), i32(down), out, places, x.acme())
    lib.launch(f"sort_rows_{NAMES[dtype]}", 3, *given)
    close(out, want)
    close(places, want_places)


# ---- Matrices


class Product(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("batches", "m", "n", "k", "parts")),
        *((name, ctypes.c_int64 * 3) for name in ("of_a", "of_b", "of_before", "of_c")),
    )


def matmul(lib, a, b, out) -> None:
    (batch, m, k), n = a.shape, b.size(2)
    groups = batch * ceil_div(m, lib.items // 4) * ceil_div(n, 64)
    sizes = Product(batch, m, n, k, 1, a.stride(), b.stride(), (0, 0, 0), out.stride())
    lib.launch(f"matmul_{lib.module}", groups, sizes, 1.0, 0.0, out, out, out, a, b)


class Im2colSizes(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ["channels", "h", "w", "kh", "kw", "oh", "ow"]),
        *((name, ctypes.c_int32 * 2) for name in ("stride", "padding", "dilation")),
    )


@floats
def test_convolution(library, dtype):
    lib = library(dtype)
    x, weight = values(dtype, 1, 5, 19, 13), values(dtype, 8, 5, 3, 2)
    how = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 3)}
    want = F.conv2d(x.float(), weight.float(), **how).to(dtype)
    places = want.shape[2] * want.shape[3]
    columns, out = empty(1, 30, places, dtype=dtype), empty(1, 8, places, dtype=dtype)
    sizes = Im2colSizes(5, 19, 13, 3, 2, *want.shape[2:], *how.values())
    lib.launch(f"im2col_{NAMES[dtype]}", 4, sizes, columns, x.acme())
    matmul(lib, weight.view(1, 8, 30).acme(), columns, out)
    close(out.view(want.shape), want, rtol=2e-2, atol=6e-2) if dtype != torch.float32 else close(
        out.view(want.shape), want
    )


@floats
@pytest.mark.parametrize("sizes", [(20, 20, 64, 0), (37, 37, 80, 1), (7, 50, 128, 0)], ids=by_x)
def test_attention(library, dtype, sizes):
    rows, length, width, causal = sizes
    q, k, v = (values(dtype, 1, 3, n, width) for n in (rows, length, length))
    f = [t.float() for t in (q, k, v)]
    want = F.scaled_dot_product_attention(*f, is_causal=bool(causal)).to(dtype)
    out, lse = empty(1, 3, rows, width, dtype=dtype), empty(3, rows, dtype=torch.float32)
    numbers = (rows, length, i32(width), i32(causal), width**-0.5)
    lib = library(dtype)
    groups = 3 * ceil_div(rows, 16)
    lib.launch(f"attention_{NAMES[dtype]}", groups, *numbers, out, lse, *on_device(q, k, v))
    close(out, want)
    if not causal:
        scores = f[0][0] @ f[1][0].mT * width**-0.5
        close(lse, torch.logsumexp(scores, 2))
