"""The kernels that run on the device's memory as it is, beside what they have to leave alone."""

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.turns_on_memory


def rand(*size, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(size))
    return torch.randn(size, generator=generator).to(dtype)


# Each takes the function that puts its tensors where they are to be.
CALLS = {
    "mm": lambda on: on(rand(3, 4)) @ on(rand(4, 5)),
    "mm, transposed": lambda on: on(rand(4, 3)).t() @ on(rand(5, 4)).t(),
    "mm, every second row": lambda on: on(rand(6, 4))[::2] @ on(rand(4, 5)),
    "mm, nothing": lambda on: on(rand(0, 4)) @ on(rand(4, 5)),
    "mm over nothing": lambda on: on(rand(3, 0)) @ on(rand(0, 5)),
    "mm, double": lambda on: on(rand(3, 4).double()) @ on(rand(4, 5).double()),
    "mm, bfloat16": lambda on: on(rand(3, 4).bfloat16()) @ on(rand(4, 5).bfloat16()),
    "mm, half": lambda on: on(rand(3, 4).half()) @ on(rand(4, 5).half()),
    "mm, complex": lambda on: on(rand(3, 4).cfloat()).conj() @ on(rand(4, 5).cfloat()),
    "mm, integers": lambda on: on(rand(3, 4).int()) @ on(rand(4, 5).int()),
    "mm, two dtypes": lambda on: on(rand(3, 4)) @ on(rand(4, 5).double()),
    "mm, sizes": lambda on: on(rand(3, 4)) @ on(rand(3, 4)),
    "mm, a negative view": lambda on: on(rand(4, 4).cfloat()).conj().imag @ on(rand(4, 4)),
    "addmm": lambda on: torch.addmm(on(rand(5)), on(rand(3, 4)), on(rand(4, 5)), beta=2, alpha=3),
    "addmm, a number": lambda on: torch.addmm(on(rand(1)[0]), on(rand(3, 4)), on(rand(4, 5))),
    "addmm, beta 0": lambda on: torch.addmm(
        on(rand(5).fill_(float("nan"))), on(rand(3, 4)), on(rand(4, 5)), beta=0
    ),
    "bmm": lambda on: torch.bmm(on(rand(2, 3, 4)), on(rand(2, 4, 5))),
    "bmm, large": lambda on: torch.bmm(on(rand(8, 32, 64)), on(rand(8, 64, 16))),
    "baddbmm": lambda on: torch.baddbmm(on(rand(1, 5)), on(rand(2, 3, 4)), on(rand(2, 4, 5))),
    "linear": lambda on: F.linear(on(rand(2, 3, 4)), on(rand(5, 4)), on(rand(5))),
    "softmax": lambda on: torch.softmax(on(rand(3, 4)), 1),
    "softmax of columns": lambda on: torch.softmax(on(rand(3, 4, 5)), 1),
    "softmax of a number": lambda on: torch.softmax(on(rand(1)[0]), 0),
    "softmax to double": lambda on: torch.softmax(on(rand(3, 4)), 1, dtype=torch.float64),
    "softmax, half": lambda on: torch.softmax(on(rand(3, 4).half()), 1),
    "softmax, nothing": lambda on: torch.softmax(on(rand(0, 4)), 1),
    "softmax, integers": lambda on: torch.softmax(on(rand(3).int()), 0),
    "softmax, transposed": lambda on: torch.softmax(on(rand(3, 4)).t(), 1),
    "log_softmax": lambda on: torch.log_softmax(on(rand(3, 4)), 0),
    "sum": lambda on: on(rand(3, 4)).sum(),
    "sum of rows": lambda on: on(rand(3, 4)).sum(1, keepdim=True),
    "sum, transposed": lambda on: on(rand(3, 4)).t().sum(0),
    "sum to double": lambda on: on(rand(3, 4)).sum(dtype=torch.float64),
    "sum of integers": lambda on: on(rand(3, 4).int()).sum(0),
    "sum of half": lambda on: on(rand(3, 400).half()).sum(1),
    "sum of nothing": lambda on: on(rand(0, 4)).sum(0),
    "sum of a number": lambda on: on(rand(1)[0]).sum(),
    "sum, no such dimension": lambda on: on(rand(3, 4)).sum(2),
    "sum of a bfloat16 broadcast": lambda on: on(rand(5, 3, 4).bfloat16()).sum((0, 1), True),
    "mean": lambda on: on(rand(3, 4)).mean(),
    "mean of rows": lambda on: on(rand(3, 4)).mean((0, -1), keepdim=True),
    "mean of nothing": lambda on: on(rand(0, 4)).mean(0),
    "mean, empty": lambda on: on(rand(0, 4)).mean(1),
    "mean of half": lambda on: on(rand(3, 400).half()).mean(1),
    "mean to double": lambda on: on(rand(3, 4)).mean(dtype=torch.float64),
    "mean of integers": lambda on: on(rand(3, 4).int()).mean(),
    "cat": lambda on: torch.cat([on(rand(3, 4)), on(rand(2, 4))]),
    "cat, columns": lambda on: torch.cat([on(rand(3, 4)), on(rand(3, 2)).expand(3, 2)], 1),
    "cat, transposed": lambda on: torch.cat([on(rand(4, 3)).t(), on(rand(2, 4))]),
    "cat, two dtypes": lambda on: torch.cat([on(rand(3, 4)), on(rand(2, 4).double())]),
    "cat, an empty one": lambda on: torch.cat([on(rand(3, 4)), on(torch.empty(0))]),
    "cat, channels last": lambda on: torch.cat(
        [on(rand(1, 2, 3, 4)).to(memory_format=torch.channels_last)] * 2, 1
    ),
    "cat, sizes": lambda on: torch.cat([on(rand(3, 4)), on(rand(2, 5))]),
    "cat, numbers": lambda on: torch.cat([on(rand(1)[0]), on(rand(1)[0])]),
    "layer_norm": lambda on: F.layer_norm(on(rand(3, 4)), (4,), on(rand(4)), on(rand(4))),
    "layer_norm, alone": lambda on: F.layer_norm(on(rand(3, 4)).t(), (3,)),
    "layer_norm, two dtypes": lambda on: F.layer_norm(
        on(rand(3, 4).bfloat16()), (4,), on(rand(4)), on(rand(4))
    ),
    "layer_norm, sizes": lambda on: F.layer_norm(on(rand(3, 4)), (5,)),
    "layer_norm, nothing": lambda on: F.layer_norm(on(rand(0, 4)), (4,)),
    "index_select": lambda on: on(rand(3, 4)).index_select(1, on(torch.tensor([3, 0, 0]))),
    "index_select, int32": lambda on: on(rand(3)).index_select(0, on(torch.tensor([2]).int())),
    "index_select, outside": lambda on: on(rand(3, 4)).index_select(0, on(torch.tensor([3]))),
    "index_select, a number": lambda on: on(rand(1)[0]).index_select(0, on(torch.tensor([0]))),
    "index_select by floats": lambda on: on(rand(3)).index_select(0, on(rand(2))),
    "gather": lambda on: on(rand(3, 4)).gather(1, on(torch.tensor([[3, 0], [1, 1]]))),
    "gather, transposed": lambda on: on(rand(4, 3)).t().gather(0, on(torch.tensor([[2, 0]]))),
    "gather, outside": lambda on: on(rand(3, 4)).gather(0, on(torch.tensor([[3]]))),
    "gather, nothing": lambda on: on(rand(3, 4)).gather(0, on(torch.zeros(0, 4).long())),
    "gather, integers": lambda on: on(rand(3).int()).gather(0, on(torch.tensor([2, 2]))),
    "gather by floats": lambda on: on(rand(3)).gather(0, on(rand(2))),
    "gather, a negative view": lambda on: (
        on(rand(3).cfloat() * 1j).conj().imag.gather(0, on(torch.tensor([2, 1])))
    ),
    "x[i]": lambda on: on(rand(3, 4))[on(torch.tensor([2, 0, -1]))],
    "x[i, j]": lambda on: on(rand(3, 4))[on(torch.tensor([[2], [0]])), on(torch.tensor([3, 1]))],
    "x[:, i]": lambda on: on(rand(3, 4))[:, on(torch.tensor([2, 0]))],
    "x[i, :, j]": lambda on: on(rand(3, 4, 5)).mT[on(torch.tensor([2])), :, on(torch.tensor([1]))],
    "x[i], by the CPU's": lambda on: on(rand(3, 4))[torch.tensor([2, 0])],
    "x[i], int32": lambda on: on(rand(3, 4))[on(torch.tensor([2, 0]).int())],
    "x[i], outside": lambda on: on(rand(3, 4))[on(torch.tensor([3]))],
    "x[i], nothing": lambda on: on(rand(3, 4))[on(torch.zeros(0).long())],
    "x[mask]": lambda on: on(rand(3, 4))[on(rand(3, 4)) > 0],
    "x[i], integers": lambda on: on(rand(3, 4).int())[on(torch.tensor([2, 0]))],
    "dot": lambda on: torch.dot(on(rand(5)), on(rand(5)) + 1),
    "dot, every second": lambda on: torch.dot(on(rand(6))[::2], on(rand(3))),
    "dot, sizes": lambda on: torch.dot(on(rand(5)), on(rand(4))),
    "dot, two dtypes": lambda on: torch.dot(on(rand(5)), on(rand(5).double())),
    "trace": lambda on: on(rand(4, 5)).trace(),
    "trace, transposed": lambda on: on(rand(4, 5)).t().trace(),
    "trace of integers": lambda on: on(rand(4, 5).int()).trace(),
    "trace of a vector": lambda on: on(rand(4)).trace(),
    "rsub": lambda on: torch.rsub(on(rand(3, 4)), on(rand(4)), alpha=2),
    "rsub, two dtypes": lambda on: torch.rsub(on(rand(3)), on(rand(3).int())),
    "floor_divide": lambda on: on(rand(3, 4)) // on(rand(4)),
    "floor_divide, a number": lambda on: on(rand(3, 4)) // 0.3,
    "floor_divide, two dtypes": lambda on: on(rand(3, 4)) // on(rand(4).double()),
    "floor_divide, sizes": lambda on: on(rand(3, 4)) // on(rand(3)),
    "searchsorted": lambda on: torch.searchsorted(on(rand(9).sort()[0]), on(rand(4)), right=True),
    "searchsorted, a sorter": lambda on: torch.searchsorted(
        on(rand(9)), on(rand(4)), sorter=on(rand(9).argsort()), out_int32=True
    ),
    "searchsorted, sizes": lambda on: torch.searchsorted(on(rand(2, 3)), on(rand(3, 3))),
    "searchsorted, two dtypes": lambda on: torch.searchsorted(on(rand(9)), on(rand(4).double())),
    "bucketize": lambda on: torch.bucketize(on(rand(3, 4)).t(), on(rand(9).sort()[0])),
    "clamp": lambda on: on(rand(3, 4)).clamp(-0.5, 0.5),
    "clamp, one side": lambda on: on(rand(3, 4)).t().clamp(max=0.5),
    "clamp to nan": lambda on: on(rand(3, 4)).clamp(float("nan"), 1),
    "clamp of integers by a fraction": lambda on: on(rand(3).int()).clamp(0.5),
    "clamp, no side": lambda on: on(rand(3)).clamp(),
    "clamp_": lambda on: on(rand(3, 4)).clamp_(-0.5, 0.5),
    "clamp by tensors": lambda on: on(rand(3, 4)).clamp(on(rand(4)), on(rand(3, 1)) + 1),
    "clamp by a tensor": lambda on: on(rand(3, 4)).clamp(max=on(rand(4))),
    "clamp by another dtype": lambda on: on(rand(3, 4)).clamp(on(rand(4).double())),
    "clamp by the CPU's number": lambda on: on(rand(3, 4)).clamp(torch.tensor(0.5)),
    "clamp_ by tensors": lambda on: on(rand(3, 4)).clamp_(on(rand(4)), on(rand(3, 4)) + 1),
    "clamp_ by larger tensors": lambda on: on(rand(4)).clamp_(on(rand(3, 4)), on(rand(4))),
    "clamp_min by a tensor": lambda on: on(rand(3, 4)).clamp_min(on(rand(4))),
    "clamp_max by a tensor": lambda on: on(rand(3, 4)).clamp_max(on(rand(4).double())),
    "embedding": lambda on: F.embedding(on(torch.tensor([[1, 2], [0, 1]])), on(rand(3, 4))),
    "fill_": lambda on: on(rand(3, 4)).fill_(1.5),
    "fill_ one": lambda on: on(rand(3, 4))[1:2, 2].fill_(1.5),
    "fill_ half": lambda on: on(rand(3, 4).half()).fill_(1e6),
    "fill_ one half with too much": lambda on: on(rand(1).half()).fill_(1e6),
    "fill_ one long with too much": lambda on: on(rand(1).long()).fill_(1e30),
    "fill_ one float with too much": lambda on: on(rand(1)).fill_(1e300),
    "fill_ one bool": lambda on: on(rand(1).bool()).fill_(2),
    "fill_ one byte with too much": lambda on: on(rand(1).byte()).fill_(300),
    "fill_ one complex number": lambda on: on(rand(1).cfloat()).fill_(1j),
    "fill_ integers with a fraction": lambda on: on(rand(3, 4).int()).fill_(1.7),
    "fill_ one with a complex number": lambda on: on(rand(1)).fill_(1j),
    "fill_ a conjugate": lambda on: on(rand(3).cfloat()).conj().fill_(1j),
    "fill_ every second": lambda on: on(rand(6)).view(3, 2)[:, 0].fill_(2).add(1),
    "fill_ an expanded one": lambda on: on(rand(1)).expand(4).fill_(2),
    "copy_, transposed": lambda on: on(rand(3, 4)).copy_(on(rand(4, 3)).t()),
    "copy_, broadcast": lambda on: on(rand(3, 4)).copy_(on(rand(4))),
    "copy_, another dtype": lambda on: on(rand(3, 4).int()).copy_(on(rand(3, 4) * 9)),
    "copy_, half": lambda on: on(rand(3, 4).half()).copy_(on(rand(3, 4))),
    "copy_, complex to real": lambda on: on(rand(3).cfloat()).copy_(on(rand(3))),
    "copy_, conjugated": lambda on: on(rand(3).cfloat()).copy_(on(rand(3).cfloat() * 1j).conj()),
    "copy_, negated": lambda on: on(rand(3)).copy_(on(rand(3).cfloat() * 1j).conj().imag),
    "copy_, sizes": lambda on: on(rand(3, 4)).copy_(on(rand(3))),
    "copy_ to an expanded one": lambda on: on(rand(1)).expand(4).copy_(on(rand(4))),
    "contiguous": lambda on: on(rand(3, 4)).t().contiguous(),
    "contiguous, large": lambda on: on(rand(80, 90)).t().contiguous(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.filterwarnings("ignore:Use of index_")
def test_equals_the_cpu(call):
    try:
        expected = call(lambda tensor: tensor.clone())
    except Exception as refused:
        with pytest.raises(type(refused)) as caught:
            call(lambda tensor: tensor.acme())
        said, says = str(refused).splitlines()[0], str(caught.value).splitlines()[0]
        assert says.replace("acme:0", "cpu") == said
        return
    result = call(lambda tensor: tensor.acme())
    assert result.is_acme
    assert (result.dtype, result.stride()) == (expected.dtype, expected.stride())
    torch.testing.assert_close(result.cpu(), expected, rtol=0, atol=0, equal_nan=True)


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
        (lambda x: x.index_select(0, torch.tensor([1, 1, 0], device=x.device)), [(3, 4)]),
    ],
    ids=["softmax", "log_softmax", "layer_norm", "all", "linear", "cat", "mean", "sum", "index"],
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


@pytest.mark.parametrize("precision", ["medium", "high"])
def test_a_users_wish_for_shorter_products_is_the_cpus_affair(precision):
    a, b = rand(64, 64), rand(64, 64)
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(precision)
        expected = [a @ b, torch.addmm(a, a, b), torch.bmm(a[None], b[None])]
        a, b = a.acme(), b.acme()
        results = [a @ b, torch.addmm(a, a, b), torch.bmm(a[None], b[None])]
    finally:
        torch.set_float32_matmul_precision(before)
    for result, want in zip(results, expected, strict=True):
        torch.testing.assert_close(result.cpu(), want, rtol=0, atol=0)


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
