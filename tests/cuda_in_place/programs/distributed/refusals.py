"""What a group over NCCL refuses, in one process: nothing is sent."""

import os
from typing import Any

import torch
import torch.distributed as dist
from ranks import device, get, init, put

group = init(device_id=device)


def refused(kind: type[Exception], words: str, call: Any, *arguments: Any, **named: Any) -> None:
    try:
        call(*arguments, **named)
    except kind as error:
        assert words in str(error) and "(rank 0 of 1)" in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


ones = torch.ones(4)
reduce = dist.all_reduce
for dtype in (torch.int16, torch.uint16, torch.uint64):
    refused(ValueError, "cannot reduce", reduce, ones.to(dtype).to(device))
for kind in (dist.ReduceOp.BAND, dist.ReduceOp.BOR, dist.ReduceOp.BXOR):
    refused(ValueError, f"has no {kind}".replace("RedOpType", "ReduceOp"), reduce, put(1), kind)
refused(ValueError, "is for numbers", reduce, put(1, dtype=torch.bool), dist.ReduceOp.AVG)
largest = dist.AllreduceOptions()
largest.reduceOp = dist.ReduceOp.MAX
refused(ValueError, "cannot reduce", group.allreduce, [put(1, dtype=torch.complex64)], largest)
refused(ValueError, "is not contiguous", dist.broadcast, put(1, 2, 3, 4)[::2], 0)
refused(ValueError, "the tensors are on the CPU", group.allreduce, [ones])
refused(ValueError, "the tensors are on", group.allreduce, [ones, put(1)])
absent = NotImplementedError
refused(absent, "name the source", group.recv_anysource, [put(1)], 0)
refused(absent, "all_gather for each", dist.all_gather_coalesced, [[put(1)]], [put(1)])
at = torch.zeros(1, 1, dtype=torch.long).to(device)
sparse = torch.sparse_coo_tensor(at, put(1), (4,), check_invariants=False, is_coalesced=True)
refused(absent, "to_dense()", reduce, sparse)
refused(absent, "group of the CPU's", group.monitored_barrier)
for words in ("acme:nccl", "cpu:gloo,acme:nccl"):
    try:
        dist.new_group([0], backend=words)
    except ValueError as error:
        assert '"acme:nccl": NCCL takes tensors of CUDA\'s only' in str(error), error
    else:
        raise AssertionError(words)
x = put(3)
reduce(x)
assert get(x) == [3.0]
if os.fork() == 0:
    try:
        reduce(x)
    except dist.DistBackendError as error:
        os._exit("is a fork of the one that made the group" not in str(error))
    os._exit(2)
assert os.wait()[1] == 0
