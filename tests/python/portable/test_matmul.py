"""Products of matrices, and what PyTorch composes of them, against the CPU's."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

pytestmark = pytest.mark.turns_on_kernels

TOLERANCES = {
    torch.float32: {"rtol": 1e-4, "atol": 1e-4},
    torch.float64: {"rtol": 1e-9, "atol": 1e-9},
    torch.float16: {"rtol": 4e-3, "atol": 2e-2},
    torch.bfloat16: {"rtol": 3e-2, "atol": 2e-1},
}
floats = pytest.mark.parametrize("dtype", list(TOLERANCES), ids=str)
# batch, m, n, k: whole tiles and parts of them, one row or column, and long sums, which are split.
SIZES = [
    (2, 64, 64, 32),
    (2, 70, 77, 33),
    (3, 1, 130, 40),
    (2, 130, 1, 40),
    (1, 1, 1, 1),
    (2, 5, 7, 0),
    (0, 5, 7, 3),
    (2, 0, 7, 3),
    (1, 6, 5, 4100),
    (1, 100, 1, 2100),
    (1, 1, 33, 2100),
    (1, 1, 1, 5000),
]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def close(got: torch.Tensor, want: torch.Tensor, dtype: torch.dtype) -> None:
    assert (got.device.type, got.dtype, got.shape) == ("acme", dtype, want.shape)
    torch.testing.assert_close(got.cpu().to(want.dtype), want, **TOLERANCES[dtype])


def exact(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.cpu().double()


def values(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    # So small that a long sum is near to 1.
    return (torch.randn(shape, dtype=torch.float64) / max(1, shape[-1]) ** 0.25).to(dtype)


def laid(tensor: torch.Tensor, how: str) -> torch.Tensor:
    """On the device: the same values, with other strides."""
    there = tensor.acme()
    if how == "turned":
        return tensor.mT.contiguous().acme().mT
    if how == "apart":
        room = torch.zeros(*(2 * n for n in tensor.shape), dtype=tensor.dtype)
        part = tuple(slice(0, 2 * n, 2) for n in tensor.shape)
        room[part] = tensor
        return room.acme()[part]
    return there


@pytest.mark.parametrize(
    ("dtype", "a_lies", "b_lies"),
    [
        (torch.float32, "rows", "rows"),
        (torch.float32, "turned", "rows"),
        (torch.float32, "turned", "turned"),
        *((dtype, "rows", "turned") for dtype in TOLERANCES),
        *((dtype, "apart", "apart") for dtype in TOLERANCES),
    ],
    ids=str,
)
def test_products(on_device, dtype, a_lies, b_lies):
    for batch, m, n, k in SIZES:
        a, b, before = (
            values(dtype, batch, m, k),
            values(dtype, batch, k, n),
            values(dtype, batch, m, n),
        )
        want = exact(a) @ exact(b)
        a, b, c = laid(a, a_lies), laid(b, b_lies), laid(before, a_lies)
        close(torch.bmm(a, b), want, dtype)
        close(torch.baddbmm(c, a, b, beta=2, alpha=0.5), 2 * exact(before) + want / 2, dtype)
        if batch == 0:
            continue
        want, a, b, c, before = want[0], a[0], b[0], c[0], exact(before[0])
        close(torch.mm(a, b), want, dtype)
        close(torch.addmm(c, a, b, beta=-1), want - before, dtype)
        out = laid(torch.full((m, n), math.nan, dtype=dtype), b_lies)
        close(torch.mm(a, b, out=out), want, dtype)
        close(out.addmm_(a, b, beta=0, alpha=2), 2 * want, dtype)
        if m == 0:
            continue
        close(torch.mv(a, b[:, 0]), want[:, 0], dtype)
        close(torch.addmv(c[:, 0], a, b[:, 0], beta=3), 3 * before[:, 0] + want[:, 0], dtype)
        close(torch.dot(a[0], b[:, 0]), want[0, 0], dtype)
        close(torch.vdot(a[0], b[:, 0]), want[0, 0], dtype)


@floats
def test_what_is_added_is_expanded(on_device, dtype):
    a, b = values(dtype, 3, 5, 4), values(dtype, 3, 4, 6)
    for shape in [(), (1,), (6,), (5, 1), (1, 6), (5, 6)]:
        c = values(dtype, *(shape or (1,))).reshape(shape)
        want = exact(c) + exact(a) @ exact(b)
        close(torch.baddbmm(c.acme(), a.acme(), b.acme()), want, dtype)
        close(torch.addmm(c.acme(), a[1].acme(), b[1].acme()), want[1], dtype)
        want = exact(c) + (exact(a) @ exact(b)).sum(0)
        close(torch.addbmm(c.acme(), a.acme(), b.acme()), want, dtype)


def test_a_batch_of_many_small_matrices(on_device):
    a, b = torch.randn(70_000, 3, 2), torch.randn(70_000, 2, 3)
    close(torch.bmm(a.acme(), b.acme()), a @ b, torch.float32)
    close(torch.bmm(a.acme(), b[..., :1].acme()), a @ b[..., :1], torch.float32)


def test_long_sums_have_the_same_bits_each_time(on_device):
    a = torch.randn(4, 20_000).acme()
    for product in (lambda: a @ a.T, lambda: a @ a[0], lambda: a[0].dot(a[1])):
        first = product().cpu()
        assert all(torch.equal(product().cpu(), first) for _ in range(3))


def test_integers_run_elsewhere():
    a, b = torch.arange(12).view(3, 4), torch.arange(20).view(4, 5)
    assert torch.equal((a.acme() @ b.acme()).cpu(), a @ b)
    assert torch.equal(
        torch.addbmm(b[:3].acme(), a[None].acme(), b[None].acme()).cpu(), b[:3] + a @ b
    )


def ones(device: str, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype, device=device)


@pytest.mark.parametrize(
    "call",
    [
        lambda d: torch.mm(ones(d, 2, 3), ones(d, 4, 5)),
        lambda d: torch.mm(ones(d, 2, 3), ones(d, 3, 5, dtype=torch.float16)),
        lambda d: torch.mm(ones(d, 2, 3), ones(d, 3, 5), out=ones(d, 2, 5, dtype=torch.float16)),
        lambda d: torch.addmm(ones(d, 7), ones(d, 2, 3), ones(d, 3, 5)),
        lambda d: torch.addmm(ones(d, 5), ones(d, 2, 3), ones(d, 3, 5), alpha=1e300),
        lambda d: ones(d, 5).addmm_(ones(d, 2, 3), ones(d, 3, 5)),
        lambda d: ones(d, 1, 5).expand(2, 5).addmm_(ones(d, 2, 3), ones(d, 3, 5)),
        lambda d: torch.bmm(ones(d, 2, 3, 4), ones(d, 3, 4, 5)),
        lambda d: torch.baddbmm(ones(d, 6), ones(d, 2, 3, 4), ones(d, 2, 4, 5)),
        lambda d: torch.addmv(ones(d, 2, dtype=torch.float64), ones(d, 2, 3), ones(d, 3)),
        lambda d: torch.dot(ones(d, 2), ones(d, 3)),
        lambda d: torch.dot(ones(d, 2, 3), ones(d, 3)),
        lambda d: torch.dot(ones(d, 3), ones(d, 3, dtype=torch.float16)),
    ],
)
def test_a_wrong_call_fails_as_on_the_cpu(call):
    messages = []
    for device in ("cpu", "acme"):
        with pytest.raises(RuntimeError) as error:
            call(device)
        messages.append(str(error.value).splitlines()[0])
    assert messages[0] == messages[1]


# ---- Compositions


def check(function, *shapes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> None:
    """Forward, and backward to each argument."""
    given = [values(dtype, *shape) for shape in shapes]
    results = []
    for device in ("cpu", "acme"):
        inputs = [t.to(device).detach().requires_grad_() for t in given]
        out = function(*inputs)
        torch.manual_seed(1)
        grads = torch.autograd.grad(out, inputs, torch.randn(out.shape).to(dtype).to(device))
        results.append([out.detach(), *grads])
    for want, got in zip(*results, strict=True):
        close(got, want, dtype)


def test_matmul_and_einsum(on_device):
    check(torch.matmul, (2, 3, 4), (2, 4, 6))
    check(torch.matmul, (4,), (5, 4, 6))
    check(torch.matmul, (5, 4, 6), (6,))
    check(torch.matmul, (5, 4, 6), (6, 3))
    check(torch.matmul, (6,), (6,))
    check(F.linear, (2, 3, 5), (7, 5))
    check(lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), (2, 2, 3, 4), (2, 2, 5, 4))
    check(lambda a, b, c: torch.einsum("bn,anm,bm->ba", a, b, c), (2, 3), (4, 3, 5), (2, 5))


def test_linear_and_bilinear():
    check(F.linear, (3, 5), (7, 5), (7,))
    check(F.linear, (2, 3, 5), (7, 5), (7,))
    check(F.bilinear, (6, 4), (6, 5), (3, 4, 5), (3,))
    check(torch.matmul, (2, 1, 3, 4), (5, 4, 6))


def attention(**options):
    return lambda *tensors: F.scaled_dot_product_attention(*tensors, **options)


HEADS = (2, 4, 5, 8)


@floats
def test_attention(dtype):
    check(attention(), HEADS, HEADS, HEADS, dtype=dtype)
    check(attention(is_causal=True), HEADS, HEADS, HEADS, dtype=dtype)
    check(attention(scale=0.3), (2, 2, 1, 8), (2, 2, 9, 8), (2, 2, 9, 4), dtype=dtype)


def test_attention_with_options():
    check(attention(), HEADS, HEADS, HEADS, (5, 5))  # a mask of floats
    check(attention(enable_gqa=True), HEADS, (2, 2, 5, 8), (2, 2, 5, 8))
    check(attention(), (2, 5, 8), (2, 6, 8), (2, 6, 8))
    mask = torch.ones(5, 5, dtype=torch.bool).tril(-1)  # a row of which nothing is left

    def masked(*tensors):
        return F.scaled_dot_product_attention(*tensors, mask.to(tensors[0].device))

    check(masked, HEADS, HEADS, HEADS)


def test_attention_is_composed_where_it_would_run_over_copies(on_device):
    x = torch.randn(HEADS).acme()
    assert torch._fused_sdp_choice(x, x, x) == SDPBackend.MATH.value
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        assert torch._fused_sdp_choice(x, x, x) == SDPBackend.FLASH_ATTENTION.value


def test_layers_for_inference():
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.randn(2, 5, 8)
    with torch.no_grad():
        want = layer(x), *layer.self_attn(x, x, x)
        x, layer = x.acme(), layer.acme()
        got = layer(x), *layer.self_attn(x, x, x)
    for one, other in zip(got, want, strict=True):
        close(one, other, torch.float32)


@pytest.mark.parametrize("use_gelu", [False, True])
def test_addmm_with_an_activation(use_gelu):
    given = [torch.randn(n) for n in ((7,), (3, 5), (5, 7))]
    want = torch._addmm_activation(*given, use_gelu=use_gelu)
    got = torch._addmm_activation(*(t.acme() for t in given), use_gelu=use_gelu)
    close(got, want, torch.float32)
