"""Rank 1 dies. The other one waits for it."""

import os
import signal
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from ranks import device, get, init, put, rank, store

init(device_id=device, timeout=timedelta(seconds=int(os.environ.get("SECONDS", "60"))))
x = put(1)
dist.all_reduce(x)
assert get(x) == [2.0]
if rank == 1:
    if "SECONDS" in os.environ:
        store.wait(["over"])  # alive, and late
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
try:
    dist.all_reduce(x, async_op=True).wait()
    torch.acme.synchronize()
except dist.DistBackendError as error:
    print(error)
store.set("over", "")
sys.stdout.flush()
os._exit(3)
