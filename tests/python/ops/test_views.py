"""Views: other metadata over the same memory."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

VIEWS = {
    "as_strided": lambda x: x.as_strided((2, 2), (6, 1), 1),
    "view": lambda x: x.view(-1),
    "view of another dtype": lambda x: x.view(torch.int32),
    "transpose": lambda x: x.t(),
    "slice": lambda x: x[1:, ::2],
    "select": lambda x: x[1],
    "unfold": lambda x: x.unfold(1, 2, 1),
    "reshape": lambda x: x.reshape(2, 12),
    "expand": lambda x: x[:1].expand(5, -1),
    "diagonal": lambda x: x.diagonal(),
    "detach": lambda x: x.detach(),
    "chunk": lambda x: x.chunk(2)[1],
    "view_as_complex": lambda x: torch.view_as_complex(x.view(4, 3, 2)),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_share_memory_and_show_what_the_cpu_shows(view):
    on_cpu = torch.arange(24, dtype=torch.float32).view(4, 6)
    x = on_cpu.acme()
    y = view(x)
    expected = view(on_cpu)
    assert y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert (y.stride(), y.storage_offset()) == (expected.stride(), expected.storage_offset())
    assert torch.equal(y.cpu(), expected)


def test_writes_through_a_view_are_seen_by_all():
    x = torch.zeros(4, 4, device="acme")
    x[1].fill_(1)
    x[:, 2] += 2
    x.t()[3].copy_(torch.arange(4.0))
    assert x.cpu().tolist() == [[0, 0, 2, 0], [1, 1, 3, 1], [0, 0, 2, 2], [0, 0, 2, 3]]


def test_zeroing_a_view_leaves_the_rest():
    x = torch.ones(3, 4, device="acme")
    x[:, 1].zero_()
    x[2, 2:].zero_()
    assert x.cpu().tolist() == [[1, 0, 1, 1], [1, 0, 1, 1], [1, 0, 0, 0]]


def test_conjugate_and_negative_views_are_lazy_and_right():
    on_cpu = torch.randn(3, 4, dtype=torch.cfloat)
    x = on_cpu.acme()
    assert x.conj().is_conj() and x.conj().imag.is_neg()
    assert torch.equal(x.conj().cpu(), on_cpu.conj())
    assert torch.equal(x.conj().imag.cpu(), on_cpu.conj().imag)
    assert torch.equal((x.conj() @ x.t()).cpu(), on_cpu.conj() @ on_cpu.t())
    assert torch.equal(x.conj().resolve_conj().cpu(), on_cpu.conj().resolve_conj())


def test_overlapping_memory_is_refused_as_on_the_cpu():
    x = torch.zeros(6, device="acme")
    with pytest.raises(RuntimeError, match="unsupported operation"):
        x[:4].add_(x[2:])
    with pytest.raises(RuntimeError, match="unsupported operation"):
        x[:1].expand(3).add_(1)


def test_a_view_out_of_bounds_is_refused():
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.zeros(4, device="acme").as_strided((3,), (2,))


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_lazy_clone_has_memory_of_its_own(view):
    on_cpu = torch.arange(24, dtype=torch.float32).view(4, 6)
    x = view(on_cpu.acme())
    y, expected = torch._lazy_clone(x), torch._lazy_clone(view(on_cpu))
    assert (y.stride(), y.storage_offset()) == (expected.stride(), expected.storage_offset())
    assert torch.equal(y.cpu(), expected)
    x.fill_(7)
    assert torch.equal(y.cpu(), view(on_cpu))
    assert y.requires_grad == x.requires_grad


def test_a_lazy_clone_is_differentiable():
    x = torch.ones(3, device="acme", requires_grad=True)
    (torch._lazy_clone(x) * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_autograd_knows_views():
    x = torch.ones(2, 3, device="acme", requires_grad=True)
    y = x * 2
    z = y.view(-1)
    z.mul_(3)
    assert z._base is y and y._version == 1
    y.sum().backward()
    assert x.grad.cpu().eq(6).all()
