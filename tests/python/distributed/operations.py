"""What the process group can do, as a table of functions, for a comparison with Gloo on the CPU.

Each takes the device, the dtype, the rank and the group, and returns the tensors that hold results;
two processes call it. `MOVING` only moves elements, `REDUCING` computes with them.
"""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

SIZE = 2

DTYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn),
    *(torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool),
    *(torch.uint16, torch.uint32, torch.uint64, torch.complex64, torch.complex128),
)


class Case:
    """One process's side of an operation."""

    def __init__(self, device, dtype, rank, group):
        self.device, self.dtype, self.rank, self.group = device, dtype, rank, group

    def values(self, *shape: int, add: int = 0) -> torch.Tensor:
        """Small numbers that are different in each process."""
        count = torch.Size(shape).numel()
        numbers = (torch.arange(count) + 3 * self.rank + add) % 5 + 1
        if self.dtype == torch.bool:
            numbers = numbers % 2
        return numbers.reshape(shape).to(self.dtype).to(self.device)

    def empty(self, *shape: int) -> torch.Tensor:
        return torch.zeros(shape, device=self.device).to(self.dtype)

    @property
    def other(self) -> int:
        return 1 - self.rank


def _all_reduce(reduction):
    def operation(case):
        x = case.values(3, 4)
        dist.all_reduce(x, op=reduction, group=case.group)
        return [x]

    return operation


def _reduce(reduction):
    def operation(case):
        x = case.values(7)
        dist.reduce(x, dst=1, op=reduction, group=case.group)
        return [x] if case.rank == 1 else []  # Gloo leaves something of its own elsewhere

    return operation


def all_reduce_later(case):
    works = [case.values(5, add=i) for i in range(3)]
    pending = [dist.all_reduce(x, group=case.group, async_op=True) for x in works]
    for each in reversed(pending):
        each.wait()
    return works


def all_reduce_coalesced(case):
    tensors = [case.values(3), case.values(2, 2, add=1)]
    dist.all_reduce_coalesced(tensors, group=case.group)
    return tensors


def reduce_scatter(case):
    out = case.empty(4)
    dist.reduce_scatter(out, [case.values(4), case.values(4, add=2)], group=case.group)
    return [out]


def reduce_scatter_tensor(case):
    out = case.empty(2, 3)
    dist.reduce_scatter_tensor(out, case.values(4, 3), group=case.group)
    return [out]


def reduce_scatter_maximum(case):
    out = case.empty(2)
    dist.reduce_scatter_tensor(out, case.values(4), op=dist.ReduceOp.MAX, group=case.group)
    return [out]


def reduce_scatter_together(case):
    outs = [case.empty(2), case.empty(1, 3)]
    with dist._coalescing_manager(group=case.group):
        dist.reduce_scatter_tensor(outs[0], case.values(4), group=case.group)
        dist.reduce_scatter_tensor(outs[1], case.values(2, 3), group=case.group)
    return outs


def all_reduce_functional(case):
    return [functional.all_reduce(case.values(4), "sum", case.group) + case.empty(4)]


def reduce_scatter_functional(case):
    return [functional.reduce_scatter_tensor(case.values(4, 2), "sum", 0, case.group).clone()]


REDUCING = {
    **{
        f"all_reduce_{name}": _all_reduce(getattr(dist.ReduceOp, name))
        for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")
    },
    "reduce_SUM": _reduce(dist.ReduceOp.SUM),
    "reduce_MAX": _reduce(dist.ReduceOp.MAX),
    **{
        each.__name__: each
        for each in (
            *(all_reduce_later, all_reduce_coalesced, reduce_scatter, reduce_scatter_tensor),
            *(reduce_scatter_maximum, reduce_scatter_together),
            *(all_reduce_functional, reduce_scatter_functional),
        )
    },
}


def broadcast(case):
    x = case.values(2, 3)
    dist.broadcast(x, src=1, group=case.group)
    return [x]


def broadcast_a_transposed_tensor(case):
    x = case.values(2, 3).t()
    dist.broadcast(x, src=0, group=case.group)
    return [x.contiguous()]


def all_gather_of(case, *shape):
    outs = [case.empty(*shape) for _ in range(SIZE)]
    dist.all_gather(outs, case.values(*shape), group=case.group)
    return outs


def all_gather(case):
    return all_gather_of(case, 2, 2)


def all_gather_into_tensor(case):
    out = case.empty(4, 3)
    dist.all_gather_into_tensor(out, case.values(2, 3), group=case.group)
    return [out]


def all_gather_stacked(case):
    out = case.empty(2, 3)
    dist.all_gather_into_tensor(out, case.values(3), group=case.group)
    return [out]


def _all_gather_and_stack(case):
    return [torch.stack(all_gather_of(case, 3))]


def all_gather_together(case):
    outs = [case.empty(4), case.empty(2, 2)]
    with dist._coalescing_manager(group=case.group):
        dist.all_gather_into_tensor(outs[0], case.values(2), group=case.group)
        dist.all_gather_into_tensor(outs[1], case.values(1, 2), group=case.group)
    return outs


def gather(case):
    outs = [case.empty(3) for _ in range(SIZE)] if case.rank == 1 else None
    dist.gather(case.values(3), outs, dst=1, group=case.group)
    return outs or []


def gather_single(case):
    out = case.empty(2, 3) if case.rank == 1 else None
    dist.gather_single(case.values(3), out, dst=1, group=case.group)
    return [] if out is None else [out]


def _gather_and_stack(case):
    return [torch.stack(outs)] if (outs := gather(case)) else []


def scatter(case):
    out = case.empty(3)
    parts = [case.values(3), case.values(3, add=1)] if case.rank == 0 else None
    dist.scatter(out, parts, src=0, group=case.group)
    return [out]


def all_to_all(case):
    outs = [case.empty(2), case.empty(2)]
    dist.all_to_all(outs, [case.values(2), case.values(2, add=1)], group=case.group)
    return outs


def all_to_all_single(case):
    out = case.empty(4, 2)
    dist.all_to_all_single(out, case.values(4, 2), group=case.group)
    return [out]


def all_to_all_uneven(case):
    sent = [1, 3] if case.rank == 0 else [2, 2]
    received = [1, 2] if case.rank == 0 else [3, 2]
    out = case.empty(sum(received))
    dist.all_to_all_single(out, case.values(4), received, sent, group=case.group)
    return [out]


def all_to_all_of_other_rows(case):
    """The rows of the result have another size than those of the input."""
    even = case.empty(6, 2)
    dist.all_to_all_single(even, case.values(4, 3), group=case.group)
    received = [case.rank + 1] * 2
    uneven = case.empty(sum(received), 4)
    dist.all_to_all_single(uneven, case.values(6, 2), received, [2, 4], group=case.group)
    return [even, uneven]


def send_and_receive(case):
    x = case.values(5)
    if case.rank == 0:
        dist.send(x, 1, group=case.group)
        return []
    dist.recv(x, 0, group=case.group)
    return [x]


def receive_from_anyone(case):
    x = case.values(5)
    if case.rank == 0:
        dist.send(x, 1, group=case.group, tag=3)
        return []
    assert dist.recv(x, None, group=case.group, tag=3) == 0
    return [x]


def exchange(case):
    """Each posts its receive first."""
    out = case.empty(3)
    receiving = dist.irecv(out, case.other, group=case.group)
    sending = dist.isend(case.values(3), case.other, group=case.group)
    sending.wait()
    receiving.wait()
    return [out]


def exchange_together(case):
    out = case.empty(3)
    operations = [
        dist.P2POp(dist.irecv, out, case.other, group=case.group),
        dist.P2POp(dist.isend, case.values(3), case.other, group=case.group),
    ]
    for each in dist.batch_isend_irecv(operations):
        each.wait()
    return [out]


def broadcast_functional(case):
    return [functional.broadcast(case.values(4), 1, case.group).clone()]


def all_gather_functional(case):
    return [functional.all_gather_tensor(case.values(2, 2), 0, case.group).clone()]


def all_to_all_functional(case):
    return [functional.all_to_all_single(case.values(4), None, None, case.group).clone()]


MOVING = {
    each.__name__: each
    for each in (
        *(broadcast, broadcast_a_transposed_tensor, all_gather, all_gather_into_tensor),
        *(all_gather_stacked, all_gather_together, gather, scatter, all_to_all),
        *(all_to_all_single, all_to_all_uneven, all_to_all_of_other_rows, send_and_receive),
        *(receive_from_anyone, exchange, exchange_together, broadcast_functional),
        *(all_gather_functional, all_to_all_functional),
    )
}

if hasattr(dist, "gather_single"):  # since torch 2.14
    MOVING["gather_single"] = gather_single

# What Gloo refuses, by operations that it does not: the same result.
IN_OTHER_WORDS = {"all_gather_stacked": _all_gather_and_stack, "gather_single": _gather_and_stack}
