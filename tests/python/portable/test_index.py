"""Operators that move elements, by an index or to places that the host knows, against the CPU's."""

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.turns_on_kernels

TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-10, torch.float16: 4e-3, torch.bfloat16: 3e-2}
floats = pytest.mark.parametrize("dtype", list(TOLERANCES), ids=str)
ALL = [*TOLERANCES, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
all_types = pytest.mark.parametrize("dtype", ALL, ids=str)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture
def deterministic():
    torch._C._set_deterministic_algorithms(True)  # the public function imports Inductor
    yield
    torch._C._set_deterministic_algorithms(False)


def values(dtype: torch.dtype, *sizes: int) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(sizes).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 9, sizes).to(dtype)


def places(below: int, *sizes: int) -> torch.Tensor:
    return torch.randint(0, below, sizes)


def close(got: torch.Tensor, want: torch.Tensor) -> None:
    assert (got.device.type, got.dtype) == ("acme", want.dtype)
    tolerance = TOLERANCES.get(got.dtype, 0)
    torch.testing.assert_close(got.detach().cpu(), want.detach(), rtol=tolerance, atol=tolerance)


def check(function, *tensors: torch.Tensor) -> None:
    """Forward and, for floating-point types, backward to all of them."""
    of_cpu = [t.detach().clone() for t in tensors]
    of_device = [t.detach().acme() for t in tensors]
    if all(t.is_floating_point() for t in tensors):
        for t in of_cpu + of_device:
            t.requires_grad_()
    got, want = function(*of_device), function(*of_cpu)
    close(got, want)
    if not want.requires_grad:
        return
    grad = torch.randn_like(want)
    for mine, its in zip(
        torch.autograd.grad(got, of_device, grad.acme()),
        torch.autograd.grad(want, of_cpu, grad),
        strict=True,
    ):
        close(mine, its)


def there(index: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return index.to(like.device)


# ---- An index along one dimension


@all_types
def test_select_and_gather(on_device, dtype):
    x, rows, of_all = values(dtype, 30, 7, 5), places(30, 17), places(30, 4, 7, 3)
    check(lambda x: x.index_select(0, there(rows, x)), x)
    check(lambda x: x.index_select(0, there(rows.int(), x)), x)
    check(lambda x: x.index_select(-1, there(rows % 5, x)), x)
    check(lambda x: x.transpose(0, 2).index_select(2, there(rows, x)), x)
    check(lambda x: x.gather(0, there(of_all, x)), x)
    check(lambda x: x.mT.gather(0, there(of_all.transpose(1, 2), x)), x)
    check(lambda x: x.gather(1, there(places(7, 30, 0, 5), x)), x)
    check(lambda x: x.index_select(0, there(torch.tensor(0), x)), values(dtype))


@all_types
def test_scatter(on_device, dtype):
    x, src = values(dtype, 6, 30, 5), values(dtype, 6, 12, 5)
    # Each place once, so that the order of writing does not matter.
    index = torch.stack([torch.randperm(30)[:12] for _ in range(30)]).view(6, 5, 12).mT
    rows = torch.randperm(30)[:12]
    check(lambda x, y: x.scatter(1, there(index, x), y), x, src)
    check(lambda x: x.scatter(1, there(index, x), 1), x)
    check(lambda x, y: x.index_copy(1, there(rows, x), y), x, src)
    check(lambda x, y: x.mT.index_copy(2, there(rows, x), y.mT), x, src)
    close(x.acme().index_fill_(1, rows.acme() - 30, 1), x.index_fill(1, rows, 1))
    one = torch.ones((), dtype=dtype)
    close(x.acme().index_fill_(1, rows.acme(), one.acme()), x.index_fill(1, rows, one))


@all_types
def test_sums(on_device, dtype):
    x, src = values(dtype, 6, 10, 5), values(dtype, 6, 12, 5)
    index, rows = places(10, 6, 12, 5), places(10, 12)
    check(lambda x, y: x.scatter_add(1, there(index, x), y), x, src)
    check(lambda x, y: x.mT.scatter_add(2, there(index.mT, x), y.mT), x, src)
    if dtype != torch.bool:
        check(lambda x, y: x.index_add(1, there(rows, x), y, alpha=2), x, src)
        check(lambda x, y: x.index_add(1, there(rows.int(), x), y), x, src)


@floats
def test_embedding(on_device, dtype):
    weight, index = values(dtype, 20, 12), places(20, 3, 7)
    check(lambda w: F.embedding(there(index, w), w), weight)
    check(lambda w: F.embedding(there(index.mT.int(), w), w, padding_idx=3), weight)
    check(lambda w: F.embedding(there(index[0, 0], w), w), weight)
    check(lambda w: F.embedding(there(index[:0], w), w), weight)
    # A gradient with strides of 0.
    for like in (torch.ones(1, 1, 1, dtype=dtype), torch.ones(1, 1, 1, dtype=dtype).acme()):
        w = weight.detach().to(like.device).requires_grad_()
        F.embedding(there(index, w), w).backward(like.expand(3, 7, 12))
        want = torch.bincount(index.flatten(), minlength=20)[:, None].expand(20, 12)
        assert (w.grad.cpu() == want).all()


# ---- Several indices


@all_types
def test_advanced_index(on_device, dtype):
    x = values(dtype, 6, 7, 8, 5)
    i, j, k = places(6, 4, 1), places(7, 3) - 7, places(8, 4, 3)
    for index in [
        (i,),
        (i, j),
        (slice(None), j, k),
        (i, slice(None), k),
        (i, j, k, k % 5),
        (slice(1, 4), slice(None), k.int()),
        (None, i, 2, slice(None, None, 2), k % 5),
        (places(6, 0),),
    ]:
        check(lambda x, at=index: x[tuple(map_index(at, x))], x)
    check(lambda x: x.permute(3, 1, 0, 2)[:, j.to(x.device), i.to(x.device)], x)
    out = torch.empty(5, 8, 3, 6, dtype=dtype, device="acme").permute(3, 2, 1, 0)
    close(torch.ops.aten.index.Tensor_out(x.acme(), [None, j.acme()], out=out), x[:, j])


def map_index(index: tuple, like: torch.Tensor) -> list:
    return [there(i, like) if isinstance(i, torch.Tensor) else i for i in index]


@all_types
def test_index_put(on_device, dtype):
    x = values(dtype, 6, 7, 8)
    once, columns = torch.randperm(6)[:4], torch.arange(3)
    j, k = places(7, 3) - 7, places(8, 4, 3)

    def put(*index: torch.Tensor | None, accumulate: bool = False):
        return lambda x, y: torch.ops.aten.index_put(x, map_index(index, x), y, accumulate)

    check(put(once), x, values(dtype, 4, 7, 8))
    check(put(once[:, None], columns), x, values(dtype, 4, 3, 8))
    for index, *sizes in [
        ((places(6, 20),), 20, 7, 8),
        ((None, j), 6, 3, 8),
        ((None, j, k), 6, 4, 3),
        ((places(6, 4, 1), None, k), 4, 3, 7),
    ]:
        check(put(*index, accumulate=True), x, values(dtype, *sizes))
    # Broadcast, and numbers of the host.
    row = values(dtype, 7, 1)
    close(put(None, j)(x.acme(), row[:6].acme()[:, None]), put(None, j)(x, row[:6][:, None]))
    got, want = x.acme(), x.clone()
    got[once.acme(), 2] = 1
    want[once, 2] = 1
    got[:, [1, 2]] = row[:1].acme()
    want[:, [1, 2]] = row[:1]
    close(got, want)


# ---- Places that the host knows


@all_types
def test_arrangements(on_device, dtype):
    x, y = values(dtype, 3, 4, 6), values(dtype, 3, 2, 6)
    check(lambda x, y: torch.cat([x, y], 1), x, y)
    check(lambda x, y: torch.cat([x.mT, y.mT], -1), x, y)
    check(lambda x, y: torch.stack([x[:, :2], y], 1), x, y)
    check(lambda x: torch.cat([x, x.new_empty(0), x[:0]]), x)
    check(lambda x: x.tril(-1), x)
    check(lambda x: x.mT.triu(1), x)
    check(lambda x: x.flip(0, 2), x)
    check(lambda x: x.mT.flip(1), x)
    check(lambda x: x.roll((2, -7), (1, 2)), x)
    check(lambda x: x.mT.roll(5), x)
    check(lambda x: F.pad(x, (1, 2, -1, 3, 2, 0), value=1), x)
    out = x.acme()
    close(torch.triu(out, out=out), x.triu())
    big = torch.empty(6, 5, 3, dtype=dtype, device="acme").permute(2, 1, 0)
    close(torch.cat([x.acme(), y.acme()[:, :1]], 1, out=big), torch.cat([x, y[:, :1]], 1))


@all_types
def test_cat_of_contiguous_tensors(on_device, dtype):
    for dim in range(3):
        for sizes in [(3,), (1, 2), (4, 2, 6, 8), (2, 0, 4, 1, 7, 2, 2, 3, 5)]:
            of_rest = [5, 3, 2]
            given = [values(dtype, *of_rest[:dim], n, *of_rest[dim + 1 :]) for n in sizes]
            check(lambda *given, dim=dim: torch.cat(given, dim), *given)
    x = values(dtype, 9)[1:]  # at an odd address
    check(lambda x: torch.cat([x, x]), x)


def test_cat_of_several_types(on_device):
    given = [values(dtype, 2, 3) for dtype in ALL]
    close(torch.cat([t.acme() for t in given]), torch.cat(given))
    integers = [t for t in given if not t.is_floating_point()]
    close(torch.cat([t.acme() for t in integers], 1), torch.cat(integers, 1))


@pytest.mark.parametrize("dtype", ALL[:-1], ids=str)
def test_ranges(on_device, dtype):
    def same(make):
        close(make(device="acme", dtype=dtype), make(device="cpu", dtype=dtype))

    same(lambda **to: torch.arange(37, **to))
    same(lambda **to: torch.arange(100, 3, -7, **to))
    same(lambda **to: torch.arange(0, **to))
    same(lambda **to: torch.eye(5, **to))
    same(lambda **to: torch.eye(5, 3, **to))
    if dtype.is_floating_point:
        same(lambda **to: torch.arange(0, 1, 0.1, **to))
        same(lambda **to: torch.linspace(-1, 3, 17, **to))
        same(lambda **to: torch.linspace(2, 3, 1, **to))
    out = torch.empty(74, dtype=dtype, device="acme")[::2]
    close(torch.arange(37, out=out), torch.arange(37, dtype=dtype))


# ---- Errors, and places out of range


def test_errors_are_those_of_the_cpu(on_device):
    x, index = torch.zeros(3, 4), torch.zeros(2, 5, dtype=torch.int64)
    for call in [
        lambda x, i: x.gather(0, i),
        lambda x, i: x.scatter_add(0, i.float(), x),
        lambda x, i: x.index_add(0, i[0], x),
        lambda x, i: torch.cat([x, x[:, :2]]),
        lambda x, i: x[i[0], i[:, 0]],
    ]:
        with pytest.raises((RuntimeError, IndexError)) as want:
            call(x, index)
        with pytest.raises(type(want.value)) as got:
            call(x.acme(), index.acme())
        assert str(got.value).splitlines()[0] == str(want.value).splitlines()[0]


FAULTS = {
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "scatter": lambda x, i: x.scatter_(0, i[:, None], 5.0),
    "scatter_add": lambda x, i: x.scatter_add_(0, i[:, None], x.clone()),
    "index_add": lambda x, i: x.index_add_(0, i, x[:2].clone()),
    "index_copy": lambda x, i: x.index_copy_(0, i, x[:2].clone()),
    "index_fill": lambda x, i: x.index_fill_(0, i, 5.0),
    "index": lambda x, i: x[i],
    "index_put": lambda x, i: x.index_put_((i,), x[0].clone(), accumulate=True),
    "embedding_dense_backward": lambda x, i: torch.ops.aten.embedding_dense_backward(
        x[:2], i, 3, -1, False
    ),
}


@pytest.mark.parametrize("place", [-4, 3, 1 << 40])
@pytest.mark.parametrize("name", FAULTS)
def test_a_place_out_of_range_is_told_by_a_later_wait(on_device, name, place):
    memory = torch.full((9, 4), 7.0, device="acme")
    x, index = memory[3:6], torch.tensor([1, place]).acme()
    FAULTS[name](x, index)
    with pytest.raises(torch.AcceleratorError, match=f"aten::{name}: an index is out of range"):
        torch.acme.synchronize()
    torch.acme.synchronize()  # once
    assert (memory[:3].cpu() == 7).all()
    assert (memory[6:].cpu() == 7).all()
    assert x.index_select(0, torch.tensor([2]).acme()).shape == (1, 4)
    torch.acme.synchronize()


def test_every_wait_tells(on_device):
    x, index, event = torch.zeros(3, device="acme"), torch.tensor([3]).acme(), torch.Event("acme")

    def of_event():
        event.record()
        event.synchronize()

    for wait in [
        lambda: x.cpu(),
        lambda: x[0].item(),
        lambda: torch.acme.current_stream().synchronize(),
        torch.acme.synchronize,
        of_event,
    ]:
        x[index]
        with pytest.raises(torch.AcceleratorError, match="out of range"):
            wait()
        torch.acme.synchronize()


def test_a_wait_for_another_stream_leaves_the_look_to_the_next(on_device, real_streams):
    x, index, side = torch.zeros(3, device="acme"), torch.tensor([3]).acme(), torch.acme.Stream()
    torch.acme.synchronize()
    with torch.acme.stream(side):
        x[index]
    torch.acme.current_stream().synchronize()
    with pytest.raises(torch.AcceleratorError, match="out of range"):
        side.synchronize()


def test_a_replay_tells(on_device, captures):
    x, index = torch.zeros(3, device="acme"), torch.tensor([2]).acme()
    x[index]
    torch.acme.synchronize()
    graph = torch.acme.CUDAGraph()
    with torch.acme.graph(graph):
        out = x[index]
    graph.replay()
    torch.acme.synchronize()
    index.fill_(3)
    for _ in range(2):
        graph.replay()
        with pytest.raises(torch.AcceleratorError, match="aten::index"):
            torch.acme.current_stream().synchronize()
    assert out.cpu().shape == (1,)


BLOCKING = """
import torch
x, index = torch.zeros(3, device="acme"), torch.tensor([3]).acme()
try:
    x[index]
except torch.AcceleratorError as error:
    assert "aten::index: an index is out of range (in aten::index on acme:0)" in str(error), error
else:
    raise AssertionError("not told")
torch.acme.synchronize()
"""


def test_with_launch_blocking_the_operator_fails(on_device, run_python):
    run_python(BLOCKING, OUTBACK_LAUNCH_BLOCKING="1")


def test_nothing_waits_at_the_end(on_device, run_python):
    source = 'import torch; torch.zeros(3, device="acme")[torch.tensor([3]).acme()]'
    run_python(source)


# ---- Deterministic


@floats
def test_the_same_bits_twice(on_device, deterministic, dtype):
    x, src = values(dtype, 5, 40).acme(), values(dtype, 3000, 40).acme()
    rows = places(5, 3000).acme()
    columns = places(5, 3000, 40).acme()

    def sums():
        return [
            x.index_add(0, rows, src),
            x.scatter_add(0, columns, src),
            x.index_put((rows,), src, accumulate=True),
            x.index_put((rows,), src),
            x.scatter(0, columns, src),
            torch.ops.aten.embedding_dense_backward(src, rows, 5, -1, False),
        ]

    first = sums()
    for mine, again in zip(first, sums(), strict=True):
        assert torch.equal(mine.cpu().view(torch.uint8), again.cpu().view(torch.uint8))
    # The last one of a place stays, as on the CPU.
    close(first[3], x.cpu().index_put((rows.cpu(),), src.cpu()))
    close(first[4], x.cpu().scatter(0, columns.cpu(), src.cpu()))
    wide = x.cpu().double().index_add(0, rows.cpu(), src.cpu().double())
    torch.testing.assert_close(first[0].cpu().double(), wide, rtol=1e-2, atol=0.5)


@all_types
@pytest.mark.parametrize("turned", [False, True])
def test_take(dtype, turned, on_device):
    a = values(dtype, 4, 9)
    x = a.acme()
    if turned:
        a, x = a.t(), x.t()
    for index in (places(36, 5, 7) - 12, places(36, 3)[::2], torch.tensor(-1), places(36, 0)):
        close(torch.take(x, index.acme()), torch.take(a, index))
        out = torch.empty(0, dtype=dtype, device="acme")
        close(torch.take(x, index.acme(), out=out), torch.take(a, index))
    assert torch.take(torch.tensor(3).acme(), torch.tensor([[0, -1]]).acme()).tolist() == [[3, 3]]


@floats
def test_gradients_of_take_and_put(dtype, on_device):
    index, other = places(20, 8), torch.randperm(20)[:8]
    check(lambda t: t.take(index.to(t.device)), values(dtype, 4, 5))
    check(lambda t, s: t.put(other.to(t.device), s), values(dtype, 4, 5), values(dtype, 8))


@all_types
@pytest.mark.parametrize("turned", [False, True])
def test_put(dtype, turned, on_device):
    a = values(dtype, 4, 9)
    index = torch.randperm(36)[:10].view(2, 5) - 18
    source = values(dtype, 5, 2)
    x = a.acme()
    if turned:
        a, x = a.t(), x.t()
    for accumulate in (False, True):
        want = torch.put(a, index, source, accumulate)
        close(torch.put(x, index.acme(), source.acme(), accumulate), want)
        a.put_(index, source.t(), accumulate)
        x.put_(index.acme(), source.acme().t(), accumulate)
        close(x, a)
    close(x.put_(index[:0].acme(), source[:0].acme()), a)


@floats
def test_put_adds_up_where_places_are_equal(dtype, on_device):
    a, index, source = values(dtype, 3, 3), places(9, 60), values(dtype, 60)
    want = torch.put(a.double(), index, source.double(), accumulate=True).to(dtype)
    close(torch.put(a.acme(), index.acme(), source.acme(), accumulate=True), want)


def test_the_last_of_equal_places_stays(deterministic, on_device):
    index, source = places(5, 400), torch.randn(400)
    want = torch.zeros(5)
    for place, value in zip(index, source, strict=True):
        want[place] = value
    x = torch.zeros(5, device="acme")
    for _ in range(3):
        close(x.put_(index.acme(), source.acme()), want)


def test_places_out_of_range(on_device):
    x = torch.arange(6.0, device="acme")
    far = torch.tensor([6], device="acme")
    with pytest.raises(torch.AcceleratorError, match="aten::take: an index is out of range"):
        x.take(far).cpu()
    with pytest.raises(torch.AcceleratorError, match="aten::put_: an index is out of range"):
        x.put_(far, x[:1].clone()).cpu()
    torch.acme.set_fallback_mode("allow")  # the CPU refuses the rest
    with pytest.raises(RuntimeError, match="long tensor for index"):
        x.take(far.int())
    with pytest.raises(IndexError, match="same number of elements"):
        x.put_(far, x[:2].clone())
    with pytest.raises(IndexError, match="empty tensor"):
        x[:0].put_(far, x[:1].clone())
