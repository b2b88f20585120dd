"""All operations with all dtypes that NCCL has, in three processes, against what each process
computes by itself from the inputs of all."""

from functools import reduce
from operator import mul
from typing import Any

import torch
import torch.distributed as dist
from computed import fetch
from ranks import device, init, put, rank, size

MOVED = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn),
    *(torch.float8_e5m2, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64),
    *(torch.bool, torch.uint16, torch.uint32, torch.uint64, torch.complex64, torch.complex128),
)
INTEGERS = (torch.int8, torch.uint8, torch.int32, torch.int64)
REDUCED = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn),
    *(torch.float8_e5m2, *INTEGERS),
)
Reduce = dist.ReduceOp
COMPUTED = {
    Reduce.SUM: sum,
    Reduce.PRODUCT: lambda all: reduce(mul, all),
    Reduce.MAX: lambda all: reduce(torch.maximum, all),
    Reduce.MIN: lambda all: reduce(torch.minimum, all),
}


def values(of: int, count: int, dtype: torch.dtype, add: int = 0) -> torch.Tensor:
    """The input of that rank, on the CPU. All results are exact in all dtypes."""
    numbers = (torch.arange(count) * 2 + 3 * of + add) % 4 + 1
    if dtype == torch.bool:
        numbers = numbers % 2
    if dtype.is_complex:
        numbers = numbers + 1j * (of + 1)
    return numbers.to(dtype)


def mine(count: int, dtype: torch.dtype, add: int = 0) -> torch.Tensor:
    return values(rank, count, dtype, add).to(device)


def of_all(count: int, dtype: torch.dtype, add: int = 0) -> list[torch.Tensor]:
    return [values(each, count, dtype, add) for each in range(size)]


def empty(count: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(count).to(dtype).to(device)


def check(name: str, dtype: torch.dtype, got: torch.Tensor, expected: torch.Tensor) -> None:
    here = fetch(got)
    same = [each.contiguous().view(torch.uint8) for each in (here, expected)]
    assert got.device == device and torch.equal(*same), (name, dtype, rank, here, expected)


def reductions(dtype: torch.dtype) -> None:
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    for kind, compute in COMPUTED.items():
        name = str(kind)
        expected = compute([each.to(wide) for each in of_all(6, dtype)]).to(dtype)
        x = mine(6, dtype)
        dist.all_reduce(x, kind)
        check(f"all_reduce {name}", dtype, x, expected)
        x = mine(6, dtype)
        dist.reduce(x, dst=1, op=kind)
        if rank == 1:
            check(f"reduce {name}", dtype, x, expected)
        mine_of_it = expected.chunk(size)[rank]
        out = empty(2, dtype)
        dist.reduce_scatter_tensor(out, mine(6, dtype), kind)
        check(f"reduce_scatter_tensor {name}", dtype, out, mine_of_it)
        dist.reduce_scatter(out, list(mine(6, dtype).chunk(size)), kind)
        check(f"reduce_scatter {name}", dtype, out, mine_of_it)
    total = sum(each.to(wide) for each in of_all(6, dtype))
    x = mine(6, dtype)
    dist.all_reduce(x, Reduce.AVG)
    expected = total / size if dtype.is_floating_point else total // size
    # Rounded as a sum of float32 is, where the dtype is narrower.
    narrow = expected if dtype == torch.float64 else expected.float()
    check("AVG", dtype, x, narrow.to(dtype))
    for factor in factors(dtype):
        x = mine(6, dtype)
        dist.all_reduce(x, dist._make_nccl_premul_sum(factor))
        check("PREMUL_SUM", dtype, x, (2 * total).to(dtype))


def factors(dtype: torch.dtype) -> list[Any]:
    """For the dtypes that PyTorch has PREMUL_SUM for, but for bfloat16, whose factor it hands to
    NCCL as float32."""
    has = dtype in (torch.float32, torch.float64, torch.float16)
    return [2.0, put(2, dtype=dtype)] if has else []


def complex_reductions(dtype: torch.dtype) -> None:
    x = mine(4, dtype)
    dist.all_reduce(x)
    check("all_reduce", dtype, x, sum(of_all(4, dtype)))
    x = mine(4, dtype)
    dist.group.WORLD._get_backend(device).allreduce([x]).wait()  # not split in two by Python
    check("allreduce", dtype, x, sum(of_all(4, dtype)))


def truths() -> None:
    x = mine(4, torch.bool)
    dist.all_reduce(x)
    check("SUM", torch.bool, x, reduce(torch.logical_or, of_all(4, torch.bool)))
    x = mine(4, torch.bool)
    dist.all_reduce(x, Reduce.MIN)
    check("MIN", torch.bool, x, reduce(torch.logical_and, of_all(4, torch.bool)))


def moves(dtype: torch.dtype) -> None:
    all = of_all(4, dtype)
    x = mine(4, dtype)
    dist.broadcast(x, src=1)
    check("broadcast", dtype, x, all[1])
    columns = mine(6, dtype).view(2, 3).t()  # dense, and not contiguous
    dist.broadcast(columns, src=2)
    check("broadcast of columns", dtype, columns, values(2, 6, dtype).view(2, 3).t())
    outs = [empty(4, dtype) for _ in range(size)]
    dist.all_gather(outs, mine(4, dtype))
    for got, expected in zip(outs, all, strict=True):
        check("all_gather", dtype, got, expected)
    out = empty(12, dtype).view(size, 2, 2)
    dist.all_gather_into_tensor(out, mine(4, dtype).view(1, 2, 2))
    check("all_gather_into_tensor", dtype, out, torch.stack(all).view(size, 2, 2))
    outs = [empty(4, dtype) for _ in range(size)] if rank == 2 else None
    dist.gather(mine(4, dtype), outs, dst=2)
    for got, expected in zip(outs or [], all, strict=rank == 2):
        check("gather", dtype, got, expected)
    out = empty(4, dtype)
    dist.scatter(out, [mine(4, dtype, add=i) for i in range(size)] if rank == 0 else None, src=0)
    check("scatter", dtype, out, values(0, 4, dtype, add=rank))
    outs = [empty(2, dtype) for _ in range(size)]
    dist.all_to_all(outs, [mine(2, dtype, add=i) for i in range(size)])
    for i, got in enumerate(outs):
        check("all_to_all", dtype, got, values(i, 2, dtype, add=rank))
    out = empty(12, dtype).view(6, 2)
    dist.all_to_all_single(out, mine(12, dtype).view(6, 2))
    parts = [values(each, 12, dtype).view(6, 2).chunk(size)[rank] for each in range(size)]
    check("all_to_all_single", dtype, out, torch.cat(parts))
    rows = size * (rank + 1)  # this rank gets rank + 1 rows of two elements from each
    out = empty(2 * rows, dtype).view(rows, 2)
    dist.all_to_all_single(out, mine(12, dtype).view(6, 2), [rank + 1] * size, [1, 2, 3])
    begin, end = (0, 1, 3)[rank], (1, 3, 6)[rank]
    parts = [values(each, 12, dtype).view(6, 2)[begin:end] for each in range(size)]
    check("all_to_all_single of parts", dtype, out, torch.cat(parts))
    if rank < 2:
        x = mine(4, dtype)
        (dist.send if rank == 0 else dist.recv)(x, 1 - rank)
        check("send and recv", dtype, x, all[0])
    out = empty(4, dtype)
    both = [
        dist.P2POp(dist.irecv, out, (rank - 1) % size),
        dist.P2POp(dist.isend, mine(4, dtype), (rank + 1) % size),
    ]
    for each in dist.batch_isend_irecv(both):
        each.wait()
    check("batch_isend_irecv", dtype, out, all[rank - 1])


init()
for dtype in MOVED:
    moves(dtype)
for dtype in REDUCED:
    reductions(dtype)
for dtype in (torch.complex64, torch.complex128):
    complex_reductions(dtype)
truths()
print("all are right")
