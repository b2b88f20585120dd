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


def test_zeroing_a_view_leaves_the_rest():
    x = torch.ones(3, 4, device="acme")
    x[:, 1].zero_()
    x[2, 2:].zero_()
    assert x.cpu().tolist() == [[1, 0, 1, 1], [1, 0, 1, 1], [1, 0, 0, 0]]


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
