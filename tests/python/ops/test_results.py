"""What operators return: where it lies, and what it shares."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory


def test_lists_of_tensors_come_back_as_lists():
    x = torch.arange(10.0, device="acme")
    parts = torch.tensor_split(x, torch.tensor([3, 7]))
    assert [p.shape[0] for p in parts] == [3, 4, 3] and all(p.device == x.device for p in parts)
    values, indices = x.topk(2)
    assert values.tolist() == [9, 8] and indices.device == x.device


def test_indices_may_be_missing_and_on_the_cpu():
    x = torch.arange(12.0, device="acme").view(3, 4)
    expected = x.cpu()
    rows = torch.tensor([0, 2])
    for index in (rows, rows.acme()):
        assert torch.equal(x[:, index].cpu(), expected[:, rows])
        assert torch.equal(x[index].cpu(), expected[rows])
    x[:, rows] = 7.0
    torch.ops.aten.index_put_(x, [None, rows.acme()], torch.tensor(1.0), True)
    assert x.cpu()[:, rows].eq(8).all() and x.cpu()[:, 1].tolist() == [1, 5, 9]


def test_complex_transforms():
    x = torch.randn(4, 8, dtype=torch.cfloat)
    for transform in (torch.fft.fft, torch.fft.ifft, torch.fft.hfft, torch.fft.fftn):
        torch.testing.assert_close(transform(x.acme()).cpu(), transform(x))


def test_forward_mode_zeros():
    import torch.autograd.forward_ad as fwad

    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(3, device="acme"), torch.full((3,), 2.0, device="acme"))
        y = torch.ones(3, device="acme")
        tangent = fwad.unpack_dual(x * y + y).tangent
    assert tangent.cpu().tolist() == [2, 2, 2]


def test_a_result_keeps_the_bit_that_says_conjugated():
    torch.manual_seed(0)
    factors, pivots = torch.linalg.lu_factor(torch.randn(3, 3, dtype=torch.cfloat))
    right = torch.randn(4, 3, dtype=torch.cfloat)
    expected = torch.linalg.lu_solve(factors, pivots, right, left=False)
    out = torch.empty(0, dtype=torch.cfloat, device="acme")
    torch.linalg.lu_solve(factors.acme(), pivots.acme(), right.acme(), left=False, out=out)
    torch.testing.assert_close(out.cpu(), expected, rtol=0, atol=0)


def test_conj_physical_works_in_place():
    x = torch.tensor([1 + 2j]).acme()
    assert x.conj_physical_() is x
    assert x.tolist() == [1 - 2j]


def test_addr_does_not_grow_its_argument():
    x, rows, columns = (torch.ones(*size, device="acme") for size in ((3, 4), (3,), (4,)))
    assert x.addr_(rows, columns).tolist() == [[2] * 4] * 3
    x = torch.tensor(1.0, device="acme")
    with pytest.raises(RuntimeError, match="2D tensor expected"):
        x.addr_(rows, columns)
    assert x.shape == ()


def test_running_statistics_are_written_in_every_way():
    x = torch.arange(12.0).view(2, 3, 2)

    def statistics(device, call):
        mean, var = torch.zeros(3, device=device), torch.ones(3, device=device)
        call(x.to(device), mean, var)
        return mean.tolist(), var.tolist()

    def with_out(x, mean, var):
        out = [torch.empty(0, device=x.device) for _ in range(3)]
        torch.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5, out=out)

    for call in (
        lambda x, mean, var: torch.native_batch_norm(x, None, None, mean, var, True, 0.1, 1e-5),
        with_out,
        lambda x, mean, var: torch.batch_norm_update_stats(x, mean, var, 0.1),
    ):
        assert statistics("acme", call) == statistics("cpu", call) != ([0] * 3, [1] * 3)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.float32])
def test_histograms_of_integers_are_integers(dtype):
    x = torch.tensor([3, 0, 7, 7, 2, 3, 3, 9], dtype=dtype)
    seen = torch.histc(x.to("acme"), bins=8, min=0, max=7)
    assert seen.dtype == dtype and seen.device.type == "acme"
    assert torch.equal(seen.cpu(), torch.tensor([1, 0, 1, 3, 0, 0, 0, 2], dtype=dtype))
    assert torch.histc(x.to("acme"), bins=3).tolist() == [2, 3, 3]


def test_a_result_that_its_kernel_keeps_and_resizes():
    kept = []

    @torch.library.custom_op("outback_results::keeps", mutates_args=(), device_types="cpu")
    def keeps(x: torch.Tensor) -> torch.Tensor:
        kept.append((x * 2).untyped_storage())
        return torch.tensor([], dtype=x.dtype).set_(kept[0])

    y = keeps(torch.arange(1000.0, device="acme"))
    kept[0].resize_(1 << 20)
    others = [torch.full((1000,), 7.0) for _ in range(40)]
    assert torch.equal(y.cpu(), torch.arange(1000.0) * 2)
    del others
