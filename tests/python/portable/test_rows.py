"""Operators of rows (softmax, norms, losses, glu) against the CPU's."""

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.turns_on_kernels

TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-10, torch.float16: 3e-3, torch.bfloat16: 2e-2}
floats = pytest.mark.parametrize("dtype", list(TOLERANCES), ids=str)
reductions = pytest.mark.parametrize("reduction", ["none", "mean", "sum"])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def close(got: torch.Tensor, want: torch.Tensor) -> None:
    """Relative to the largest value."""
    assert (got.device.type, got.shape) == ("acme", want.shape)
    tolerance = TOLERANCES.get(got.dtype, 0)
    largest = want.detach()[want.isfinite()].abs().max().item() if want.isfinite().any() else 0
    torch.testing.assert_close(
        got.detach().cpu().to(want.dtype),
        want.detach(),
        rtol=tolerance,
        atol=tolerance * max(1, largest),
        equal_nan=True,
    )


def check(function, *tensors: torch.Tensor | None) -> None:
    """Forward, and backward to the tensors that it depends on, against the CPU's in float64: sums
    of 16-bit values are more exact on the device than the CPU's."""

    def copies(copy):
        made = [t if t is None else copy(t) for t in tensors]
        return [t.requires_grad_() if t is not None and t.is_floating_point() else t for t in made]

    of_device = copies(lambda t: t.detach().acme())
    of_cpu = copies(lambda t: t.detach().clone().double() if t.is_floating_point() else t)
    got, want = function(*of_device), function(*of_cpu)
    assert got.dtype == tensors[0].dtype
    close(got, want)
    grad = torch.randn(want.shape, dtype=torch.float64).to(got.dtype)
    got.backward(grad.acme())
    want.backward(grad.double())
    for one, other in zip(of_device, of_cpu, strict=True):
        if one is not None and other.grad is not None:
            assert one.grad.dtype == one.dtype
            close(one.grad, other.grad)


def values(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64).to(dtype)


# ---- softmax


@floats
@pytest.mark.parametrize("function", [F.softmax, F.log_softmax])
def test_softmax(on_device, dtype, function):
    for shape, dim in [
        *[((5, 700), 1), ((4, 33, 5), 1), ((7, 3), 0), ((), 0), ((2, 0), 1)],
        ((2, 40, 2100), 1),  # neighbours of rows are neighbours in memory
    ]:
        x = values(dtype, *shape)
        if x.numel() > 9:
            x.view(-1)[1] = -torch.inf
        check(lambda x, dim=dim: function(x, dim), x)


def test_softmax_of_many_rows(on_device):
    check(lambda x: x.softmax(1), torch.randn(70_000, 3))


def test_softmax_of_any_strides(on_device):
    x = torch.randn(6, 5, 8)
    check(lambda x: x.transpose(0, 2)[:, 1:].softmax(2), x)
    out = torch.full((8, 5, 6), 7.0).acme().transpose(0, 2)
    torch.softmax(x.acme(), 1, out=out)
    close(out, x.softmax(1))


def test_softmax_in_place_of_its_input(on_device):
    x = torch.randn(6, 300)
    own = x.acme()
    torch.softmax(own, 1, out=own)
    close(own, x.softmax(1))


def test_softmax_of_float16_in_float32(on_device):
    x, grad = values(torch.float16, 3, 40), torch.randn(3, 40)
    want = x.float().softmax(1)
    made = torch.ops.aten._softmax(x.acme(), 1, True)
    close(made, want)
    got = torch.ops.aten._softmax_backward_data(grad.acme(), made, 1, torch.float16)
    back = torch.ops.aten._softmax_backward_data(grad, want, 1, torch.float32)
    close(got, back.half())


def test_softmax_refuses_what_the_cpu_refuses():
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.randn(3, 4).acme().softmax(2)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        torch._softmax(torch.ones(3, dtype=torch.long).acme(), 0, False)


# ---- Norms


@floats
def test_layer_norm(on_device, dtype):
    for shape, n in [((6, 700), 1), ((3, 5, 4, 7), 2), ((300, 9), 1), ((1, 1), 1)]:
        own = shape[-n:]
        x, weight, bias = values(dtype, *shape) + 1, values(dtype, *own), values(dtype, *own)
        for given in ((weight, bias), (weight, None), (None, bias), (None, None)):
            check(lambda x, *given, own=own: F.layer_norm(x, own, *given), x, *given)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_norms_of_16_bits_with_parameters_of_32(on_device, dtype):
    x, weight, bias = values(dtype, 6, 4, 30), torch.randn(30), torch.randn(30)
    check(lambda x, *given: F.layer_norm(x, [30], *given), x, weight, bias)
    check(lambda x, *given: F.group_norm(x, 2, *given), x, torch.randn(4), torch.randn(4))
    want = torch.native_layer_norm(x, [30], weight, bias, 1e-5)
    got = torch.native_layer_norm(x.acme(), [30], weight.acme(), bias.acme(), 1e-5)
    for one, other in zip(got, want, strict=True):
        close(one, other)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_layer_norm_of_nothing(on_device, shape):
    x, weight, bias = torch.randn(shape), torch.randn(shape[1:]), torch.randn(shape[1:])
    check(lambda x, *given: F.layer_norm(x, shape[1:], *given), x, weight, bias)


def test_the_gradients_of_parameters_add_in_the_same_order(on_device):
    x, grad = torch.randn(5000, 20), torch.randn(5000, 20)
    check(lambda x, w, b: F.layer_norm(x, [20], w, b), x, torch.randn(20), torch.randn(20))
    made = []
    for _ in range(2):
        weight = torch.ones(20, device="acme", requires_grad=True)
        F.layer_norm(x.acme(), [20], weight).backward(grad.acme())
        made.append(weight.grad.cpu())
    assert torch.equal(*made)


@floats
def test_group_norm(on_device, dtype):
    for shape, groups in [((3, 6, 5, 7), 2), ((2, 4, 300), 4), ((5, 8), 2), ((0, 4, 3), 2)]:
        width = shape[1]
        x, weight, bias = values(dtype, *shape) + 1, values(dtype, width), values(dtype, width)
        check(lambda x, *given, n=groups: F.group_norm(x, n, *given), x, weight, bias)
        check(lambda x, n=groups: F.group_norm(x, n), x)


def test_group_norm_of_many_places(on_device):
    x = torch.randn(5, 2, 9000)
    check(lambda x, *given: F.group_norm(x, 1, *given), x, torch.randn(2), torch.randn(2))


def test_group_norm_keeps_channels_last(on_device):
    x = torch.randn(2, 4, 3, 5).to(memory_format=torch.channels_last)
    own = F.group_norm(x.acme(), 2)
    assert own.is_contiguous(memory_format=torch.channels_last)
    close(own, F.group_norm(x, 2))


def test_norms_refuse_what_the_cpu_refuses():
    x = torch.randn(3, 4).acme()
    with pytest.raises(RuntimeError, match="expected input with shape"):
        F.layer_norm(x, [5])
    with pytest.raises(RuntimeError, match="Expected weight to be of same shape"):
        F.layer_norm(x, [4], torch.ones(3).acme())
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        F.group_norm(x, 3)


# ---- Losses


@floats
@reductions
def test_cross_entropy(on_device, dtype, reduction):
    for shape in [(9, 5), (400, 3), (5,), (3, 5, 4), (2, 5, 3, 4), (0, 5)]:
        classes = shape[0] if len(shape) == 1 else shape[1]
        x, weight = values(dtype, *shape), values(dtype, classes).abs() + 0.1
        target = torch.randint(0, classes, (shape[0], *shape[2:]) if len(shape) > 1 else ())
        how = {"reduction": reduction, "ignore_index": 2}
        check(lambda x, t, how=how: F.cross_entropy(x, t, **how), x, target)
        check(lambda x, t, w, how=how: F.cross_entropy(x, t, w.detach(), **how), x, target, weight)


def test_nll_loss_of_ignored_rows_only(on_device):
    x, target = torch.randn(3, 4), torch.full((3,), -100)
    for reduction in ("none", "mean", "sum"):
        check(lambda x, t, how=reduction: F.nll_loss(x, t, reduction=how), x, target)


@pytest.mark.parametrize("target", [4, -1, 1 << 40])
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_a_target_out_of_range_is_told_by_a_later_wait(on_device, reduction, target):
    x = torch.randn(2, 4).acme().requires_grad_()
    out_of_range = torch.tensor([1, target]).acme()
    message = "aten::nll_loss: a target is out of range"
    loss = F.nll_loss(x, out_of_range, reduction=reduction)
    with pytest.raises(torch.AcceleratorError, match=message):
        torch.acme.synchronize()
    loss.sum().backward()
    with pytest.raises(torch.AcceleratorError, match=message):
        torch.acme.synchronize()
    torch.acme.synchronize()  # once


def test_nll_loss_of_any_strides():
    x, target = torch.randn(4, 6), torch.randint(0, 4, (12,))
    check(lambda x, t: F.nll_loss(x.T, t[::2], reduction="none"), x, target)
    own = x.T.acme().requires_grad_()
    F.nll_loss(own, target[::2].acme(), reduction="none").sum().backward()  # an expanded gradient
    want = x.T.clone().requires_grad_()
    F.nll_loss(want, target[::2], reduction="sum").backward()
    close(own.grad, want.grad)


def test_a_target_of_bytes_and_other_weights_go_to_the_next_provider():
    x, target = torch.randn(3, 4), torch.tensor([0, 3, 1], dtype=torch.uint8)
    close(F.nll_loss(x.acme(), target.acme()), F.nll_loss(x, target))
    with pytest.raises(RuntimeError, match="expected scalar type"):
        F.nll_loss(x.acme(), target.long().acme(), torch.ones(4).double().acme())
    with pytest.raises(RuntimeError, match="weight tensor should be defined"):
        F.nll_loss(x.acme(), target.long().acme(), torch.ones(3).acme())
    with pytest.raises(RuntimeError, match="size mismatch"):
        F.nll_loss(torch.randn(1, 4, 2, 3).acme(), torch.zeros(1, 3, 2).long().acme())


LOSSES = {
    "mse": F.mse_loss,
    "smooth_l1": lambda *given, **how: F.smooth_l1_loss(*given, beta=0.4, **how),
    "huber": lambda *given, **how: F.huber_loss(*given, delta=0.7, **how),
    "binary_cross_entropy": lambda x, y, **how: F.binary_cross_entropy(x, y.detach(), **how),
}


@floats
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_of_pairs(on_device, dtype, loss):
    x, target = (torch.rand(shape).mul(0.8).add(0.1).to(dtype) for shape in [(7, 90), (90, 7)])
    check(lambda x, y: LOSSES[loss](x, y.T, reduction="none"), x, target)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_of_pairs_in_sum(on_device, loss, reduction):
    for size in (7, 0):
        x, target = torch.rand(size, 9), torch.rand(size, 9)
        check(lambda x, y: LOSSES[loss](x, y, reduction=reduction), x, target)


def test_weights_of_binary_cross_entropy(on_device):
    x, y, weight = torch.rand(5, 3), torch.rand(5, 3), torch.rand(3)
    check(lambda x, *given: F.binary_cross_entropy(x, *(t.detach() for t in given)), x, y, weight)
    x[0, :2] = torch.tensor([0.0, 1.0])
    close(F.binary_cross_entropy(x.acme(), y.acme()), F.binary_cross_entropy(x, y))


# ---- Gates


@floats
def test_gates(on_device, dtype):
    check(F.logsigmoid, values(dtype, 6, 50) * 9)
    check(lambda x: F.logsigmoid(x.T), values(dtype, 6, 50))
    check(lambda x: F.glu(x, 1), values(dtype, 5, 12, 3))
    check(lambda x: F.glu(x.mT, 1), values(dtype, 2, 3, 8))


def test_group_norm_of_one_channel_and_of_none(on_device):
    x = torch.randn(2, 1, 3, 3).to(memory_format=torch.channels_last)
    for given in (x, x.as_strided((2, 1, 3, 3), (9, 1, 3, 1))):
        got, want = (torch.group_norm(place, 1) for place in (given.acme(), given))
        assert got.stride() == want.stride()
    of_nothing = torch.zeros(2, 6, 0).acme()
    weight = torch.ones(6, device="acme", requires_grad=True)
    (slope,) = torch.autograd.grad(F.group_norm(of_nothing, 2, weight).sum(), weight)
    assert slope.isnan().all()


def test_group_norm_refuses_other_strides():
    x = torch.randn(2, 6, 4).acme()
    with pytest.raises(RuntimeError, match=r"X\.is_contiguous"):
        torch.native_group_norm(x.mT.contiguous().mT, None, None, 2, 6, 4, 2, 1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64], ids=str)
def test_squared_distances_of_two_dtypes_have_gradients(dtype, on_device):
    torch.acme.set_fallback_mode("allow")
    a, b = torch.randn(5), torch.randn(5).to(dtype)
    x, y = a.acme().requires_grad_(), b.acme().requires_grad_()
    a.requires_grad_()
    b.requires_grad_()
    F.mse_loss(a, b).backward()
    F.mse_loss(x, y).backward()
    torch.testing.assert_close(x.grad.cpu(), a.grad)
    torch.testing.assert_close(y.grad.cpu(), b.grad)
