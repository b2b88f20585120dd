"""The kernels of rows with an item as a fiber, which notices a BARRIER that is missing. Each group
makes several rows, so that the next one begins while the last one's memory is in use."""

import ctypes
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
import torch_acme
from conftest import BUILD

SOURCE = Path(__file__).resolve().parents[3]
sys.path.append(str(SOURCE / "cmake"))
from inline_includes import inlined  # noqa: E402

pytestmark = pytest.mark.turns_on_kernels

TEMPLATE = SOURCE / "backend_template"
LSIZE = 64
i32 = ctypes.c_int32
ROWS, WIDTH, CLASSES = 5, 150, 7


class NormSizes(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ["rows", "n", "sets", "inner"]),
        ("has_f32_weights", i32),
        ("has_f32_statistics", i32),
    )


class NllSizes(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ["rows", "classes", "inner", "ignored"]),
        ("fault", i32),
        ("reserved", i32),
    )


@pytest.fixture
def kernels(monkeypatch):
    """kernels(module, *names) launches: (name, groups, arguments)."""
    if Path(torch_acme.__file__).parts[-3] not in ("python", "python_protected"):
        pytest.skip("needs the host runtime, which runs fibers")
    monkeypatch.setenv("OUTBACK_CACHE_DIR", str(BUILD / "tests/kernel_cache"))

    def of(module, *names):
        text = inlined(TEMPLATE / f"portable/kernels/{module}.k", [TEMPLATE / "include"])
        text = f"#define OUTBACK_DIALECT_FIBERS\n#define T f32\n{text}"
        full = [f"{name}_f32" for name in names]
        made = torch.acme.compile_kernel(text, full, language="dialect", items=LSIZE)
        by_name = dict(zip(names, made, strict=True))

        def launch(name, groups, *arguments):
            given = [ctypes.c_int64(a) if isinstance(a, int) else a for a in arguments]
            by_name[name](groups, LSIZE, given)

        return launch

    return of


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def close(got: torch.Tensor, want: torch.Tensor) -> None:
    torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-4)


def empty(*shape: int) -> torch.Tensor:
    return torch.full(shape, 7.0, device="acme")


def test_softmax(kernels):
    launch = kernels("softmax", "softmax", "softmax_backward")
    x, grad = torch.randn(ROWS, WIDTH), torch.randn(ROWS, WIDTH)
    want, out, of_x = x.softmax(1), empty(ROWS, WIDTH), empty(ROWS, WIDTH)
    launch("softmax", 2, ROWS, WIDTH, 1, i32(0), out, x.acme())
    close(out, want)
    launch("softmax_backward", 2, ROWS, WIDTH, 1, i32(0), of_x, grad.acme(), out)
    close(of_x, torch.ops.aten._softmax_backward_data(grad, want, 1, torch.float32))


@pytest.mark.parametrize("kind", ["layer_norm", "group_norm"])
def test_norms(kernels, kind):
    launch = kernels("norm", "norm", "norm_backward", f"{kind}_parts", "norm_parameters")
    if kind == "layer_norm":
        x, count, sizes = torch.randn(ROWS, WIDTH), WIDTH, NormSizes(ROWS, WIDTH, 1, 1, 1, 1)
    else:  # 2 groups of 3 channels of 50 values
        x, count, sizes = torch.randn(ROWS, 6, 50), 6, NormSizes(2 * ROWS, WIDTH, 2, 50, 1, 1)
    rows = sizes.rows
    x, grad = x.requires_grad_(), torch.randn_like(x)
    weight, bias = (torch.randn(count, requires_grad=True) for _ in range(2))
    if kind == "layer_norm":
        want = F.layer_norm(x, [WIDTH], weight, bias)
    else:
        want = F.group_norm(x, 2, weight, bias)
    want.backward(grad)

    own, of_out, weights = x.detach().acme(), grad.acme(), weight.detach().acme()
    out, of_x, mean, rstd = empty(*x.shape), empty(*x.shape), empty(rows), empty(rows)
    eps = ctypes.c_float(1e-5)
    launch("norm", 2, sizes, eps, out, mean, rstd, own, weights, bias.detach().acme())
    close(out, want.detach())
    launch("norm_backward", 2, sizes, of_x, of_out, own, mean, rstd, weights)
    close(of_x, x.grad)
    partial, of_weight, of_bias = empty(2, 2, count), empty(count), empty(count)
    launch(f"{kind}_parts", 3, sizes, 2, partial, of_out, own, mean, rstd)
    launch("norm_parameters", 1, count, 2, i32(1), of_weight, of_bias, partial)
    close(of_weight, weight.grad)
    close(of_bias, bias.grad)


def test_nll_loss(kernels):
    launch = kernels("nll_loss", "nll_loss_parts", "nll_loss_total")
    x, target = torch.randn(300, CLASSES), torch.randint(0, CLASSES, (300,))
    target[:2] = torch.tensor([CLASSES, -1])  # outside: no loss, and nothing is read
    weight, sizes = torch.rand(CLASSES), NllSizes(300, CLASSES, 1, 3, 5)
    partial, out, total = empty(3, 2), empty(1), empty(1)
    fault = torch.zeros(1, dtype=torch.int32, device="acme")
    launch("nll_loss_parts", 3, sizes, partial, x.acme(), target.acme(), weight.acme(), fault)
    assert fault.item() == 5
    launch("nll_loss_total", 1, 3, i32(1), out, total, partial)
    want = F.nll_loss(x[2:], target[2:], weight, ignore_index=3)
    close(out, want.view(1))
    close(total, weight[target[2:]][target[2:] != 3].sum().view(1))
