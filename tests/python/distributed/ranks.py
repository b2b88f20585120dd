"""Programs of several processes: a fork each, which talk to one another over the loopback.

    from ranks import run
    run(2, work, store="/tmp/...")

calls `work(rank)` in each, with a process group of all; the caller's process is rank 0. What it
calls before must not have started the backend.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

TIMEOUT = timedelta(seconds=30)


def fork(size: int) -> tuple[int, list[int]]:
    """Returns the rank of this process, and the process ids of the others in rank 0."""
    others = []
    for rank in range(1, size):
        child = os.fork()
        if child == 0:
            return rank, []
        others.append(child)
    return 0, others


def start(rank: int, size: int, store: str, **options: Any) -> None:
    """The default group. Nothing is named unless `options` do."""
    import torch
    import torch.distributed as dist

    # In a fork torch makes its pool of threads anew where it is asked for first. Two threads of
    # autograd, of two devices, would ask at once, and one would find none.
    torch.set_num_threads(torch.get_num_threads())
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    options.setdefault("timeout", TIMEOUT)
    keys = dist.FileStore(store, size)
    dist.init_process_group(rank=rank, world_size=size, store=keys, **options)
    # Gloo connects a pair at a time: a rank that ended already would be missed by the others.
    keys.set(f"rank {rank} has started", "")
    keys.wait([f"rank {other} has started" for other in range(size)], TIMEOUT)


def run(size: int, work: Callable[[int], None], store: str, **options: Any) -> None:
    """Ends this process with code 1 if a rank raises or ends in another way."""
    rank, others = fork(size)
    code = 0
    try:
        start(rank, size, store, **options)
        work(rank)
        import torch.distributed as dist

        if dist.is_initialized():
            dist.destroy_process_group()
    except BaseException:
        traceback.print_exc()
        code = 1
        for other in others:  # which would wait for this one
            os.kill(other, signal.SIGKILL)
    for other in others:
        code |= os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) != 0
    sys.stdout.flush()
    sys.exit(code)
