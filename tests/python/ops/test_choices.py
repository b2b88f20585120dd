"""Elements that an index, a mask or a comparison chooses: the CPU's results and errors."""

import pytest
import torch
import torch.nn.functional as F

from .conftest import assert_equals_the_cpu, rand

pytestmark = pytest.mark.turns_on_memory

CALLS = {
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
    "searchsorted": lambda on: torch.searchsorted(on(rand(9).sort()[0]), on(rand(4)), right=True),
    "searchsorted, a sorter": lambda on: torch.searchsorted(
        on(rand(9)), on(rand(4)), sorter=on(rand(9).argsort()), out_int32=True
    ),
    "searchsorted, sizes": lambda on: torch.searchsorted(on(rand(2, 3)), on(rand(3, 3))),
    "searchsorted, two dtypes": lambda on: torch.searchsorted(on(rand(9)), on(rand(4).double())),
    "bucketize": lambda on: torch.bucketize(on(rand(3, 4)).t(), on(rand(9).sort()[0])),
    "embedding": lambda on: F.embedding(on(torch.tensor([[1, 2], [0, 1]])), on(rand(3, 4))),
    "equal": lambda on: on(torch.tensor(torch.equal(on(rand(3, 4)), on(rand(3, 4))))),
    "equal, another dtype": lambda on: on(
        torch.tensor(torch.equal(on(rand(3)), on(rand(3).double())))
    ),
    "take": lambda on: on(rand(3, 4)).t().take(on(torch.tensor([[5, 0], [-1, 1]]))),
    "take, outside": lambda on: on(rand(3, 4)).take(on(torch.tensor([12]))),
    "take by a mask": lambda on: on(rand(3)).take(on(torch.tensor([True]))),
    "index_copy": lambda on: on(rand(3, 4)).index_copy(
        -1, on(torch.tensor([3, 0])), on(rand(3, 2))
    ),
    "index_copy, outside": lambda on: on(rand(3)).index_copy(0, on(torch.tensor([3])), on(rand(1))),
    "index_copy, no such dimension": lambda on: on(rand(3)).index_copy(
        1, on(torch.tensor([0])), on(rand(1))
    ),
    "index_copy to a number": lambda on: on(rand(1)[0]).index_copy(
        0, on(torch.tensor([0])), on(rand(1))
    ),
    "scatter": lambda on: on(rand(3, 4)).scatter(0, on(torch.tensor([[2, 0, 1]])), on(rand(2, 4))),
    "scatter of a number": lambda on: on(rand(3, 4).int()).scatter(
        1, on(torch.tensor([[3], [0], [0]])), 7
    ),
    "scatter, outside": lambda on: on(rand(3)).scatter(0, on(torch.tensor([3])), on(rand(3))),
    "scatter, nothing": lambda on: on(rand(3)).scatter(0, on(torch.zeros(0).long()), on(rand(3))),
    "scatter over a broadcast": lambda on: (
        on(rand(3, 1)).expand(3, 4).scatter(1, on(torch.tensor([[3], [0], [0]])), on(rand(3, 4)))
    ),
    "scatter_add": lambda on: on(rand(3)).scatter_add(0, on(torch.tensor([1, 1, 0])), on(rand(3))),
    "scatter_add of wide rows": lambda on: on(rand(5, 40)).scatter_add(
        0, on(torch.tensor([[1], [4], [1], [1]])).expand(4, 40), on(rand(4, 40))
    ),
    "equal, masks": lambda on: on(torch.tensor(torch.equal(on(rand(9)) > 0, on(rand(9)) > 0))),
    "equal, sizes": lambda on: on(torch.tensor(torch.equal(on(rand(3)), on(rand(4))))),
    "scatter_add_": lambda on: on(rand(3)).scatter_add_(0, on(torch.tensor([1, 0])), on(rand(2))),
    "scatter_ a number": lambda on: on(rand(3)).scatter_(-1, on(torch.tensor([1, 1])), 2.5),
    "scatter_add_ to a row": lambda on: on(rand(3))
    .expand(2, 3)
    .scatter_add_(0, on(torch.tensor([[1, 0]])), on(rand(1, 2))),
    **{
        f"{kind}_reduce, {way}, {'with' if kept else 'without'} self": call
        for way in ("prod", "mean", "amax", "amin")
        for kept in (True, False)
        for kind, call in (
            (
                "scatter",
                lambda on, way=way, kept=kept: on(rand(3, 4)).scatter_reduce(
                    0, on(torch.tensor([[1, 0], [1, 2]])), on(rand(2, 2)), way, include_self=kept
                ),
            ),
            (
                "index",
                lambda on, way=way, kept=kept: on(rand(3, 4)).index_reduce(
                    -1, on(torch.tensor([1, 3, 1])), on(rand(3, 3)), way, include_self=kept
                ),
            ),
        )
    },
    "index_reduce of a vector": lambda on: on(rand(3)).index_reduce(
        0, on(torch.tensor([1, 1])), on(rand(2)), "mean"
    ),
    "scatter_reduce, no such way": lambda on: on(rand(3)).scatter_reduce(
        0, on(torch.tensor([1])), on(rand(1)), "sums"
    ),
    "index_add": lambda on: on(rand(3, 4)).index_add(
        -2, on(torch.tensor([1, 1])), on(rand(2, 4)), alpha=3
    ),
    "index_add_ of integers": lambda on: on(rand(3).int()).index_add_(
        0, on(torch.tensor([1, 1])), on(torch.tensor([4, 5]).int())
    ),
    "index_add, outside": lambda on: on(rand(3)).index_add(0, on(torch.tensor([3])), on(rand(1))),
    "index_add, transposed": lambda on: on(rand(4, 3))
    .t()
    .index_add(0, on(torch.tensor([1, 2])), on(rand(2, 4))),
    "index_fill_ with a number": lambda on: on(rand(3, 4)).index_fill_(
        1, on(torch.tensor([1, -1])), 2.5
    ),
    "index_fill with a tensor": lambda on: on(rand(3, 4)).index_fill(
        0, on(torch.tensor([1])), on(rand(1)[0])
    ),
    "x[i] = y": lambda on: on(rand(3, 4)).index_put_((on(torch.tensor([2, 0])),), on(rand(4))),
    "x[:, i] = y": lambda on: on(rand(3, 4)).index_put(
        (None, on(torch.tensor([2, 0]))), on(rand(3, 2))
    ),
    "x[i] += y": lambda on: on(rand(3, 4)).index_put(
        (on(torch.tensor([2, 2])),), on(rand(2, 4)), accumulate=True
    ),
    "x[i] = y, by the CPU's": lambda on: on(rand(3)).index_put((torch.tensor([2]),), on(rand(1))),
    "x[i] = y, outside": lambda on: on(rand(3)).index_put((on(torch.tensor([3])),), on(rand(1))),
    "x[i] = y, sizes": lambda on: on(rand(3)).index_put((on(torch.tensor([1])),), on(rand(2))),
    "x[i] = y, two dtypes": lambda on: on(rand(3)).index_put(
        (on(torch.tensor([1])),), on(rand(1).double())
    ),
    "x[i] += y, by the CPU's": lambda on: on(rand(3, 4)).index_put(
        (torch.tensor([0, 0]), None), on(rand(2, 4)), accumulate=True
    ),
    "x[:, i] += y": lambda on: on(rand(3, 4)).index_put(
        (None, on(torch.tensor([1, 1, 0]))), on(rand(3, 3)), accumulate=True
    ),
    "x[mask] += y": lambda on: on(rand(3, 4)).index_put(
        (on(rand(3, 4)) > 0,), on(rand(1)[0]), accumulate=True
    ),
    "x[mask] = y": lambda on: on(rand(3, 4)).index_put((on(rand(3, 4)) > 0,), on(rand(1)[0])),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("ignore:Use of index_")
def test_equals_the_cpu(call, put):
    assert_equals_the_cpu(call, put)
