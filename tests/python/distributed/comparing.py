"""Compares the operations of the process group with Gloo's on the CPU; a part of a program that
two processes run (ranks.py)."""

import re
import sys
from collections import Counter

import operations
import torch
import torch.distributed as dist

# In Gloo, or in what passes on to it at the level DETAIL.
NOT_THERE = "Backend (gloo|outback) does not support"


def _outcome(operation, device, dtype, rank):
    try:
        tensors = operation(operations.Case(device, dtype, rank, dist.group.WORLD))
        return [tensor.cpu() for tensor in tensors], None
    except (RuntimeError, ValueError) as error:
        return None, error


def _bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).tolist()


def _compared(name, operation, dtype, rank):
    expected, refused = _outcome(operation, "cpu", dtype, rank)
    got, error = _outcome(operation, "acme", dtype, rank)
    if refused and name in operations.MOVING:  # what Gloo has no name for is moved all the same
        plain = operations.IN_OTHER_WORDS.get(name, operation)
        known = torch.bool if dtype == torch.bool else torch.int64
        expected, refused = _outcome(plain, "cpu", known, rank)
        expected = expected and [tensor.to(dtype) for tensor in expected]
    if refused or error:
        # Gloo raises a RuntimeError, of a thread of its own. Ours comes before anything is sent.
        early = isinstance(error, ValueError) or re.search(NOT_THERE, str(error))
        return "refused" if refused and early else f"Gloo: {refused}, the group: {error}"
    same = [tensor.shape for tensor in got] == [tensor.shape for tensor in expected] and all(
        _bits(a) == _bits(b) for a, b in zip(got, expected, strict=True)
    )
    return "equal" if same else f"{got}, expected {expected}"


def compare_all(rank: int, dtypes=operations.DTYPES) -> None:
    counts: Counter[str] = Counter()
    for name, operation in {**operations.REDUCING, **operations.MOVING}.items():
        for dtype in dtypes:
            what = _compared(name, operation, dtype, rank)
            counts[what] += 1
            if what not in ("equal", "refused"):
                print(f"rank {rank}: {name} of {dtype}: {what}", file=sys.stderr)
    if rank == 0:
        print(dict(counts))
