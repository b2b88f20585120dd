"""Products, solutions and conversions of sparse layouts: the CPU's results, and its refusals."""

import itertools

import pytest
import torch

pytestmark = [
    pytest.mark.turns_on_memory,
    pytest.mark.filterwarnings("ignore:Sparse"),
    pytest.mark.filterwarnings("ignore:torch.triangular_solve"),
]

LAYOUTS = {
    "COO": torch.sparse_coo,
    "CSR": torch.sparse_csr,
    "CSC": torch.sparse_csc,
    "BSR": torch.sparse_bsr,
    "BSC": torch.sparse_bsc,
}
BLOCKS = {"BSR": (2, 3), "BSC": (3, 2)}


def numbers(rows, columns, dtype):
    x = torch.arange(rows * columns).remainder(7).sub(3).to(dtype).view(rows, columns)
    x[::2, ::3] = 0
    return x


def sparse(x, kind):
    return x.to_sparse(layout=LAYOUTS[kind], blocksize=BLOCKS.get(kind))


def in_columns(x):
    """A BSR matrix whose blocks lie column by column, as torch's own tests have them."""
    values = x.values().transpose(-1, -2).contiguous().transpose(-1, -2)
    return torch.sparse_bsr_tensor(x.crow_indices(), x.col_indices(), values, x.shape)


def calls(kind, device, dtype):
    wide, square = (numbers(6, n, dtype).to(device) for n in (12, 6))
    tall, x = numbers(12, 6, dtype).to(device), sparse(wide, kind)
    square = square + 4 * torch.eye(6, device=device, dtype=dtype)
    yield "mm", lambda: x @ tall
    yield "sparse.mm", lambda: torch.sparse.mm(x, tall)
    yield "sparse.addmm", lambda: torch.sparse.addmm(square, x, tall, beta=2, alpha=3)
    yield "dense mm", lambda: tall @ x
    yield "transposed mm", lambda: x.transpose(0, 1) @ wide.clone()
    yield "mv", lambda: x @ tall[:, 0]
    yield "addmm", lambda: torch.addmm(square, x, tall, beta=2, alpha=3)
    yield "addmm out", lambda: torch.addmm(square, x, tall, out=torch.empty_like(square).t())
    yield "addmv", lambda: torch.addmv(square[0], x, tall[:, 0], beta=2, alpha=3)
    yield "sampled", lambda: torch.sparse.sampled_addmm(sparse(square, kind), wide, tall)
    yield "linear", lambda: torch.nn.functional.linear(tall.t(), x)
    yield "sum", lambda: torch.sum(x, 0, keepdim=True)
    yield "mask", lambda: wide.clone().fill_(2).sparse_mask(x)
    for other in LAYOUTS:
        yield f"with {other}", lambda other=other: x @ sparse(tall, other)
        yield f"plus {other}", lambda other=other: x + sparse(wide, other)
        yield f"times {other}", lambda other=other: x * sparse(wide, other)
        yield f"to {other}", lambda other=other: sparse(x, other)
        yield f"to {other} without a block", lambda other=other: x.to_sparse(layout=LAYOUTS[other])
    if kind == "BSR":
        yield "blocks in columns", lambda: in_columns(x) @ tall
    for upper, transpose, unit in itertools.product((True, False), repeat=3):
        half = torch.triu(square) if upper else torch.tril(square)
        how = {"upper": upper, "transpose": transpose, "unitriangular": unit}
        yield (
            f"solve {how}",
            lambda half=half, how=how: torch.triangular_solve(
                wide,
                half.to_sparse(layout=LAYOUTS[kind], blocksize=(2, 2) if kind in BLOCKS else None),
                **how,
            )[0],
        )


def outcome(call):
    try:
        result = call()
    except (RuntimeError, ValueError) as error:
        return str(error).splitlines()[0].partition(" with arguments from")[0]
    dense = result.to_dense() if result.layout != torch.strided else result
    return result.layout, dense.cpu()


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128, torch.int64], ids=str)
@pytest.mark.parametrize("kind", LAYOUTS)
def test_what_the_cpu_computes_and_refuses(kind, dtype):
    on_cpu, here = (list(calls(kind, device, dtype)) for device in ("cpu", "acme"))
    for (name, call), (_, ours) in zip(on_cpu, here, strict=True):
        expected, found = outcome(call), outcome(ours)
        if isinstance(expected, str):
            assert found == expected, name
            continue
        assert not isinstance(found, str), f"{name}: {found}"
        assert found[0] == expected[0], name
        torch.testing.assert_close(found[1], expected[1], equal_nan=True, msg=name)
    computed = {name for name, call in on_cpu if not isinstance(outcome(call), str)}
    assert len(computed) > (3 if dtype == torch.int64 or kind == "BSC" else 7), computed
