"""Kernels on pointers: gradients, devices, refusals, and the wait for the stream."""

import pytest
import torch
import torch.nn.functional as F

from .conftest import rand

pytestmark = pytest.mark.turns_on_memory


def least(x):
    found = x.aminmax().min
    # torch 2.11 has no derivative of it.
    return found if type(found.grad_fn).__name__ != "NotImplemented" else x.min()


def gradients(function, *tensors):
    tensors = [tensor.detach().requires_grad_() for tensor in tensors]
    return torch.autograd.grad(function(*tensors).square().sum(), tensors)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x: torch.softmax(x, -1), [(3, 4)]),
        (lambda x: torch.log_softmax(x, 0), [(3, 4)]),
        (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(3, 4), (4,), (4,)]),
        (lambda x: F.layer_norm(x, (3, 4)), [(2, 3, 4)]),
        (lambda x, w, b: F.linear(x, w, b), [(2, 3, 4), (5, 4), (5,)]),
        (lambda a, b: torch.cat([a, b], 1), [(3, 4), (3, 1)]),
        (lambda x: x.mean(0), [(3, 4)]),
        (lambda x: x.sum(1, keepdim=True), [(3, 4)]),
        (lambda x: x.max(1)[0] + x.max() + least(x), [(3, 4)]),
        (lambda x: x.cumsum(0).prod(1), [(3, 4)]),
        (lambda x, v: torch.addr(torch.addmv(x[:, 0], x, v), x[:, 1], v[:3]), [(3, 4), (4,)]),
        (lambda x, y: x.scatter_add(0, torch.tensor([1, 1], device=x.device), y), [(3,), (2,)]),
        (lambda x: F.pad(F.max_pool2d(x, 2), (1, 1, 2, 0), mode="reflect"), [(1, 2, 6, 6)]),
        (lambda x, w: F.prelu(F.group_norm(x, 2), w), [(2, 4, 3), (4,)]),
        (lambda x, y: F.huber_loss(F.logsigmoid(x), y), [(3, 4), (3, 4)]),
        (lambda x, y: torch.complex(x, y).abs() + torch.logit(x.sigmoid()), [(3,), (3,)]),
        (lambda x: x.index_select(0, torch.tensor([1, 1, 0], device=x.device)), [(3, 4)]),
    ],
    ids=[
        *("softmax", "log_softmax", "layer_norm", "all", "linear", "cat", "mean", "sum", "max"),
        *("cumsum", "addr", "scatter", "pool", "prelu", "loss", "complex", "index"),
    ],
)
def test_gradients_equal_the_cpus(function, shapes):
    tensors = [rand(*shape) for shape in shapes]
    expected = gradients(function, *tensors)
    for result, want in zip(
        gradients(function, *(t.acme() for t in tensors)), expected, strict=True
    ):
        assert result.is_acme
        torch.testing.assert_close(result.cpu(), want, rtol=0, atol=0)


def test_a_cpu_tensor_among_them_is_refused():
    here, cpu = rand(4, 4).acme(), rand(4, 4)
    for call in (
        lambda: here @ cpu,
        lambda: cpu @ here,
        lambda: torch.addmm(cpu, here, here),
        lambda: torch.cat([here, cpu]),
        lambda: F.layer_norm(here, (4,), cpu[0]),
        lambda: here.index_select(0, torch.tensor([0])),
        lambda: torch.equal(here, cpu),
        lambda: torch.logical_and(here, cpu),
        lambda: torch.complex(here, cpu),
        lambda: torch.mv(here, cpu[0]),
        lambda: here.scatter(0, torch.zeros(4, 4).long(), here),
        lambda: here.index_add_(0, torch.tensor([0]), here[:1]),
        lambda: F.nll_loss(here, torch.zeros(4).long()),
        lambda: F.group_norm(here, 2, cpu[0]),
    ):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            call()


def test_two_devices_do_not_meet(two_devices):
    first, second = rand(4, 4).acme(0), rand(4, 4).acme(1)
    for call in (
        lambda: first @ second,
        lambda: torch.cat([first, second]),
        lambda: F.layer_norm(first, (4,), second[0]),
    ):
        with pytest.raises(RuntimeError, match="found at least two devices"):
            call()


def test_a_result_is_on_the_arguments_device_not_the_current_one(two_devices):
    x = rand(4, 4).acme(1)
    for result in (x @ x, x.sum(), x.mean(0), torch.cat([x, x]), torch.softmax(x, 0)):
        assert result.device == torch.device("acme", 1)


def test_they_wait_for_the_stream():
    x = torch.zeros(1 << 20, device="acme")
    ones = torch.ones(1 << 20, device="acme")
    for _ in range(20):
        x.copy_(ones)
        assert x.sum().item() == 1 << 20
        x.zero_()
        assert x.sum().item() == 0
        x.fill_(2)
        assert x.view(1024, 1024).mean(0)[7].item() == 2
        x.copy_(ones)
        assert torch.equal(x, ones)
        x.zero_()
        assert x.max().item() == 0
        assert torch.var_mean(x)[1].item() == 0
        x.copy_(ones)
        assert x.all().item()
        x.zero_()
        assert x.bool().sum().item() == 0


def test_a_larger_out_does_not_get_its_old_bytes():
    count = 1 << 21
    x = torch.rand(count)
    expected = {
        torch.abs: x.abs(),
        torch.angle: x.angle(),
        torch.logical_not: x.logical_not().float(),
        torch.nan_to_num: x,
    }
    here = x.acme()
    for function, want in expected.items():
        for _ in range(5):
            out = torch.full((count // 2,), 7.0, device="acme").resize_(0)
            assert torch.equal(function(here, out=out).cpu(), want)


def test_no_kernel_reads_what_another_still_copies():
    torch.manual_seed(0)
    a, b, c = (torch.randn(512, 512) for _ in range(3))
    batch = torch.randn(4, 256, 256)
    rows, weight = torch.randn(4, 16384), torch.randn(16384)
    expected = {
        "addmm": torch.addmm(c, a, b),
        "addmm of a transposed one": torch.addmm(c, a[::2, ::2].repeat(2, 2), b.t()),
        "baddbmm": torch.baddbmm(batch, batch, batch),
        "mm of every second": a[:, ::2] @ b[::2, :],
        "softmax, transposed": torch.softmax(a.t(), -1),
        "index_select by every second": a.index_select(0, torch.arange(512)[::2]),
        "sum": a.sum(0),
    }
    a_, b_, c_, batch_ = (x.acme() for x in (a, b, c, batch))
    for _ in range(10):
        results = {
            "addmm": torch.addmm(c_, a_, b_),
            "addmm of a transposed one": torch.addmm(c_, a_[::2, ::2].repeat(2, 2), b_.t()),
            "baddbmm": torch.baddbmm(batch_, batch_, batch_),
            "mm of every second": a_[:, ::2] @ b_[::2, :],
            "softmax, transposed": torch.softmax(a_.t(), -1),
            "index_select by every second": a_.index_select(
                0, torch.arange(512, device="acme")[::2]
            ),
            "sum": a_.sum(0),
        }
        for name, result in results.items():
            torch.testing.assert_close(result.cpu(), expected[name], msg=name)

    def gradient(x, w):
        w = w.detach().requires_grad_()
        return torch.autograd.grad(F.layer_norm(x, (16384,), w).square().sum(), w)[0]

    want = gradient(rows, weight)
    for _ in range(10):
        torch.testing.assert_close(gradient(rows.acme(), weight.acme()).cpu(), want)
