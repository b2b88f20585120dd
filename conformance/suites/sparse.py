"""Sparse tensors on the device: each layout made, moved, computed with and differentiated."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from ..apart import need_device
from ..backend import Backend
from ..check import check, variants

LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "COO": lambda x: x.to_sparse(),
    "CSR": lambda x: x.to_sparse_csr(),
    "CSC": lambda x: x.to_sparse_csc(),
    "BSR": lambda x: x.to_sparse_bsr((2, 2)),
    "BSC": lambda x: x.to_sparse_bsc((2, 2)),
}


class quietly(warnings.catch_warnings):
    """Without the word of torch that compressed layouts are in beta."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")


def dense() -> torch.Tensor:
    x = torch.zeros(4, 6)
    x[0, 1], x[0, 5], x[2, 2], x[3, 0] = 1.0, 2.0, 3.0, 4.0
    return x


def parts(x: torch.Tensor) -> list[torch.Tensor]:
    if x.layout == torch.sparse_coo:
        return [x._indices(), x._values()]
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [x.crow_indices(), x.col_indices(), x.values()]
    return [x.ccol_indices(), x.row_indices(), x.values()]


def is_made_and_moved(backend: Backend, make: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """A sparse tensor is made of a dense one on the device, has all its parts there, is made dense
    again, and moves to the CPU and back."""
    with quietly():
        x = dense()
        expected = make(x)
        sparse = make(x.to(backend.device))
        assert sparse.device == backend.device and sparse.layout == expected.layout
        assert all(part.device == backend.device for part in parts(sparse))
        for ours, theirs in zip(parts(sparse), parts(expected), strict=True):
            assert torch.equal(ours.cpu(), theirs)
        assert torch.equal(sparse.to_dense().cpu(), x)
        assert sparse.to_dense().device == backend.device
        there_and_back = sparse.cpu().to(backend.device)
        assert there_and_back.device == backend.device
        assert torch.equal(there_and_back.to_dense().cpu(), x)
        moved = expected.to(backend.device)
        assert moved.layout == expected.layout
        assert torch.equal(moved.to_dense().cpu(), x)


def survives_what_it_was_made_of(
    backend: Backend, make: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """The parts and copies of a sparse tensor keep their memory when the tensor is gone."""
    with quietly():
        sparse = make(dense().to(backend.device))
        kept, expected = parts(sparse), [part.cpu() for part in parts(make(dense()))]
        cloned = sparse.clone()
        del sparse
        others = [torch.full((64,), -1.0, device=backend.device) for _ in range(8)]
        for part, oracle in zip(kept, expected, strict=True):
            assert torch.equal(part.cpu(), oracle), "a part lost its numbers"
        assert torch.equal(cloned.to_dense().cpu(), dense())
        del others


def multiplies(backend: Backend, make: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """A sparse matrix times a dense one, and twice a sparse one, is what the CPU gives."""
    with quietly():
        x, y = dense(), torch.arange(12.0).reshape(6, 2)
        sparse = make(x.to(backend.device))
        if sparse.layout == torch.sparse_bsc:
            sparse = sparse.to_dense().to_sparse_csr()
        product = sparse @ y.to(backend.device)
        assert product.device == backend.device
        torch.testing.assert_close(product.cpu(), x @ y)
        twice = (sparse * 2).to_dense()
        torch.testing.assert_close(twice.cpu(), x * 2)


def products_and_solutions(
    make: Callable[[torch.Tensor], torch.Tensor], device: torch.device
) -> dict[str, Callable[[], torch.Tensor]]:
    x = dense().to(device)
    square = (torch.arange(16.0).reshape(4, 4).sub(7) + 10 * torch.eye(4)).to(device)
    calls = {
        "mm": lambda: make(x) @ x.t(),
        "sparse.mm": lambda: torch.sparse.mm(make(x), x.t()),
        "mv": lambda: make(x) @ x[0],
        "addmm": lambda: torch.addmm(square, make(x), x.t(), beta=2, alpha=3),
        "addmv": lambda: torch.addmv(square[0], make(x), x[0], beta=2, alpha=3),
        "sampled_addmm": lambda: torch.sparse.sampled_addmm(make(square), x, x.t()),
    }
    for name, convert in LAYOUTS.items():
        calls[f"to {name}"] = lambda convert=convert: convert(make(x))
        calls[f"times {name}"] = lambda convert=convert: make(x) @ convert(x.t())
    for upper in (True, False):
        half = square.triu() if upper else square.tril()
        for unit in (True, False):
            calls[f"triangular_solve(upper={upper}, unitriangular={unit})"] = (
                lambda half=half, how={"upper": upper, "unitriangular": unit}: (
                    torch.triangular_solve(x, make(half), **how)[0]
                )
            )
    return calls


def computes_what_the_cpu_computes(
    backend: Backend, make: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """Each product, solution of a triangular system and conversion that the CPU computes for this
    layout, the device computes too, in the same layout."""
    with quietly():
        there = products_and_solutions(make, backend.device)
        for name, call in products_and_solutions(make, torch.device("cpu")).items():
            try:
                expected = call()
            except (RuntimeError, ValueError):
                continue  # which the device may do better
            found = there[name]()
            assert found.device == backend.device, f"{name} is on {found.device}"
            assert found.layout == expected.layout, f"{name} is {found.layout}"
            found, expected = (
                each.to_dense() if each.layout != torch.strided else each
                for each in (found, expected)
            )
            torch.testing.assert_close(
                found.cpu(), expected, msg=lambda text, n=name: f"{n}: {text}"
            )


def layouts(function: Callable[..., None], place: str, without: str) -> list:
    return variants(
        check(called_by=place, without=without)(function),
        function,
        {name: (make,) for name, make in LAYOUTS.items()},
    )


made = layouts(
    is_made_and_moved,
    "torch/include/ATen/SparseTensorImpl.h: SparseTensorImpl",
    "sparse tensors cannot be put on the device",
)
kept = layouts(
    survives_what_it_was_made_of,
    "torch/include/ATen/SparseCsrTensorImpl.h: SparseCsrTensorImpl",
    "parts of sparse tensors become other numbers",
)
multiplied = layouts(
    multiplies,
    "torch/sparse/__init__.py: sum",
    "graph networks cannot compute on the device",
)

computed = layouts(
    computes_what_the_cpu_computes,
    "torch/sparse/__init__.py: sum",
    "layers with sparse weights cannot compute on the device",
)


@check(
    called_by="torch/include/ATen/SparseTensorImpl.h: SparseTensorImpl",
    without="sparse tensors cannot be made of indices",
)
def coo_tensors_are_made_of_indices(backend: Backend) -> None:
    """sparse_coo_tensor takes indices and values of the device or of lists, sums what is double
    when it coalesces, and is empty where nothing is in it."""
    indices = torch.tensor([[0, 1, 1, 0], [2, 0, 0, 2]], device=backend.device)
    values = torch.tensor([1.0, 2.0, 3.0, 4.0], device=backend.device)
    x = torch.sparse_coo_tensor(indices, values, (2, 3))
    assert x.device == backend.device and x._nnz() == 4 and not x.is_coalesced()
    y = x.coalesce()
    assert y.is_coalesced() and y._nnz() == 2
    assert y.indices().tolist() == [[0, 1], [2, 0]] and y.values().tolist() == [5, 5]
    assert x.to_dense().tolist() == [[0, 0, 5], [5, 0, 0]]
    make: Any = torch.sparse_coo_tensor  # whose stubs take tensors alone
    listed = make([[0], [1]], [3.0], (2, 2), device=backend.device)
    assert listed.device == backend.device and listed.to_dense().tolist() == [[0, 3], [0, 0]]
    nothing = make(size=(2, 3), device=backend.device)
    assert nothing._nnz() == 0 and nothing.to_dense().sum().item() == 0
    hybrid = torch.sparse_coo_tensor(indices[:1], values[:, None].expand(4, 2).clone(), (2, 2))
    assert hybrid.to_dense().tolist() == [[5, 5], [5, 5]]


@check(
    called_by="torch/include/ATen/SparseTensorImpl.h: SparseTensorImpl",
    without="bad indices read memory that is not theirs",
)
def wrong_indices_are_refused(backend: Backend) -> None:
    """Indices beyond the size, and of another device than the values, are errors."""
    need_device(backend)
    values = torch.ones(1, device=backend.device)
    for indices in (torch.tensor([[5], [0]]), torch.tensor([[-1], [0]])):
        try:
            torch.sparse_coo_tensor(
                indices.to(backend.device), values, (2, 2), check_invariants=True
            )
        except RuntimeError:
            continue
        raise AssertionError(f"indices {indices.tolist()} were taken for a 2 x 2 tensor")
    try:
        torch.sparse_coo_tensor(torch.zeros(2, 1, dtype=torch.int64), values, (2, 2))
    except RuntimeError as error:
        assert "device" in str(error).lower(), error
    else:
        raise AssertionError("indices of the CPU were taken with values of the device")


@check(
    called_by="torch/nn/modules/sparse.py: Embedding",
    without="embeddings with sparse gradients cannot be trained",
)
def sparse_gradients_are_there(backend: Backend) -> None:
    """An embedding with sparse=True has a sparse gradient on the device, and SGD and SparseAdam use
    it."""
    results = []
    for device in ("cpu", backend.device):
        for optimizer in (torch.optim.SGD, torch.optim.SparseAdam):
            torch.manual_seed(0)
            table = torch.nn.Embedding(10, 3, sparse=True).to(device)
            step = optimizer(table.parameters(), lr=0.1)
            table(torch.tensor([1, 4, 1], device=device)).square().sum().backward()
            gradient = table.weight.grad
            assert gradient.is_sparse and gradient.device.type == torch.device(device).type
            step.step()
            results.append(table.weight.detach().cpu())
    torch.testing.assert_close(results[2:], results[:2])


@check(
    called_by="torch/sparse/__init__.py: sum",
    without="gradients of sparse operators are wrong",
)
def sparse_operators_are_differentiated(backend: Backend) -> None:
    """A product with a sparse matrix has the CPU's gradients, of both sides."""
    with quietly():
        results = []
        for device in ("cpu", backend.device):
            x = dense().to(device).requires_grad_()
            y = torch.arange(12.0, device=device).reshape(6, 2).requires_grad_()
            torch.sparse.mm(x.to_sparse(), y).square().sum().backward()
            assert y.grad.device == torch.device(device)
            gradient = x.grad.to_dense() if x.grad.layout != torch.strided else x.grad
            results.append((y.grad.cpu(), gradient.cpu()))
        torch.testing.assert_close(results[1], results[0])


@check(
    called_by="torch/sparse/__init__.py: sum",
    without="arithmetic of sparse tensors fails",
)
def coo_tensors_compute(backend: Backend) -> None:
    """Sums, products, transposes, reductions and masks of COO tensors are the CPU's."""
    x = dense()
    calls = {
        "sum of two": lambda s: s + s,
        "scalar": lambda s: s * 3,
        "product": lambda s: s * s,
        "negative": lambda s: -s,
        "transpose": lambda s: s.t(),
        "sparse.sum": lambda s: torch.sparse.sum(s, 0),
        "total": lambda s: torch.sparse.sum(s),
        "sparse_mask": lambda s: s.to_dense().mul(2).sparse_mask(s.coalesce()),
        "sparse @ sparse": lambda s: torch.sparse.mm(s, s.t()),
        "to half": lambda s: s.half(),
        "select": lambda s: s.select(0, 0),
        "cat": lambda s: torch.cat([s, s]),
        "softmax": lambda s: torch.sparse.softmax(s, 1),
    }
    wrong = []
    for name, call in calls.items():
        expected, actual = call(x.to_sparse()), call(x.to(backend.device).to_sparse())
        left = actual.to_dense().cpu() if actual.is_sparse else actual.cpu()
        right = expected.to_dense() if expected.is_sparse else expected
        if actual.device != backend.device or not torch.allclose(left, right):
            wrong.append(name)
    assert not wrong, f"not as on the CPU: {', '.join(wrong)}"
