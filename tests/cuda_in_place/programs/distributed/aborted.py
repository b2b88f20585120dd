"""A group that is aborted while an operation waits for another process, which does not come."""

import os

import torch
import torch.distributed as dist
from ranks import device, get, init, put, rank, store

init(device_id=device)
x = put(1)
dist.all_reduce(x)
if rank == 0:
    work = dist.all_reduce(x, async_op=True)
    assert not work.is_completed()
    dist.group.WORLD.abort()
    torch.acme.synchronize()  # the stream goes on
    try:
        dist.all_reduce(x)
    except dist.DistBackendError as error:
        assert str(error).startswith("acme: all_reduce of group default_pg (rank 0 of 2)"), error
        print("refused")
    y = put(5)
    assert get(y) == [5.0]
    store.set("aborted", "")
store.wait(["aborted"])
os._exit(0)
