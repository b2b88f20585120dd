"""Sparse tensors of the device, and other layouts."""

import io

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

pytestmark = [
    pytest.mark.turns_on_memory,
    pytest.mark.filterwarnings("ignore:Sparse"),
]
DENSE = torch.tensor([[0.0, 1, 0], [2, 0, 3]])
LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_tensors_are_copied_between_devices(layout):
    ones, zero = DENSE.to_sparse(layout=layout), (DENSE * 0).to_sparse(layout=layout)
    if layout != torch.sparse_coo:  # the others have to have as many elements
        zero = ones * 0
    for target in ("acme:0", "cpu", f"acme:{torch.acme.device_count() - 1}"):
        for source in ("acme:0", "cpu"):
            x = zero.to(target, copy=True)
            assert x.copy_(ones.to(source)) is x
            assert x.device == torch.device(target) == x.values().device
            assert torch.equal(x.to_dense().cpu(), DENSE), (target, source)


def test_coalesced_indices_are_checked():
    """torch.load asks for this check, too."""
    values = torch.tensor([3.0, 4, 5], device="acme")

    def checked(*rows):
        indices = torch.tensor(rows, device="acme")
        return torch.sparse_coo_tensor(
            indices, values, (2, 3), is_coalesced=True, check_invariants=True
        )

    file = io.BytesIO()
    torch.save(checked([0, 1, 1], [2, 0, 2]), file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded.device == values.device and loaded.is_coalesced()
    assert loaded.to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        checked([0, 1, 1], [2, 0, 3])


def test_in_place_changes_reach_the_members():
    x = DENSE.acme().to_sparse()
    x.mul_(2)
    assert torch.equal(x.to_dense().cpu(), DENSE * 2)
    x.add_(DENSE.acme().to_sparse())
    assert torch.equal(x.to_dense().cpu(), DENSE * 3)
    x.zero_()
    assert x._nnz() == 0


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_keep_their_shapes_on_the_cpu():
    parts = [torch.ones(2), torch.arange(3.0)]
    x = torch.nested.nested_tensor(parts, device="acme")
    assert x._nested_tensor_size().device.type == "cpu"
    assert [part.cpu().tolist() for part in (x * 2).unbind()] == [[2, 2], [0, 2, 4]]
    assert "acme" in repr(x)


def test_layouts_of_the_cpu_alone_are_refused():
    with pytest.raises(NotImplementedError, match="layout"):
        torch.ones(3, device="acme").to_mkldnn()


def test_filling_a_csr_tensor_leaves_its_indices():
    x = torch.eye(3).to_sparse_csr().acme()
    x.fill_(3)
    assert x.crow_indices().tolist() == [0, 1, 2, 3]
    assert x.col_indices().tolist() == [0, 1, 2]
    assert x.values().tolist() == [3, 3, 3]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_fake_sparse_tensor_says_what_the_cpus_says(layout):
    said = []
    for device in ("cpu", "acme"):
        mode = FakeTensorMode()
        x = mode.from_tensor(DENSE.to(device).to_sparse(layout=layout))
        with mode:
            x = x.coalesce() if layout == torch.sparse_coo else x
            said.append((x.sparse_dim(), x.dense_dim(), x._nnz(), x.values().shape))
            assert x.values().device.type == device
    assert said[0] == said[1]


def test_products_of_fake_sparse_tensors_have_a_shape():
    mode = FakeTensorMode()
    x = mode.from_tensor(torch.eye(4).acme().to_sparse_csr())
    with mode:
        dense = torch.empty(4, 4, device="acme")
        assert (x @ dense).shape == (4, 4)
        assert torch.sparse.mm(x, dense, "sum").shape == (4, 4)
        assert torch.sparse.sampled_addmm(x, dense, dense).layout == torch.sparse_csr
