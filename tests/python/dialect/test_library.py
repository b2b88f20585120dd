"""The kernels of backend_template/portable that no operator launches yet, and products, against
PyTorch's on the CPU: as the device runs them, and on the host with an item as a fiber, which
notices a BARRIER that is missing."""

import ctypes
import math

import pytest
import torch
import torch.nn.functional as F

from dialect.conftest import BACKEND, NAMES, ceil_div

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


@floats
@pytest.mark.parametrize("rows", [1, 8])
def test_product_with_a_vector(library, dtype, rows):
    lib = library(dtype)
    a, b = values(dtype, 1, 21, 150), values(dtype, 1, 150, 1)
    want = (a.float() @ b.float()).to(dtype)
    out, x, y = empty(1, 21, 1, dtype=dtype), *on_device(a, b)
    sizes = Product(1, 21, 1, 150, 1, a.stride(), b.stride(), (0, 0, 0), out.stride())
    lib.launch(f"matmul_vector_{lib.module}", 2, sizes, rows, 1.0, 0.0, out, out, out, x, y)
    close(out, want, rtol=2e-2, atol=6e-2) if dtype != torch.float32 else close(out, want)


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
