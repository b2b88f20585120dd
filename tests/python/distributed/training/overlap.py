"""Communication goes on while the device computes."""

import time

import torch
import torch.distributed as dist

from .form import TIMEOUT, World, form

BUCKETS = 4
PIECE = 20_000_000  # nanoseconds


def compute_until_complete(work: dist.Work) -> None:
    """Keeps the current stream busy, without the CPU, until the work is complete."""
    end = time.monotonic() + TIMEOUT.total_seconds() / 2
    while not work.is_completed():
        assert time.monotonic() < end, "the communication waits until the device has nothing to do"
        torch.acme._sleep(PIECE)
        time.sleep(PIECE / 2e9)  # so that there is always more enqueued than the device has done
    torch.acme._sleep(PIECE)


@form("overlap, a bucket moves while the next one is computed", None, needs_groups=True)
def overlap(world: World) -> None:
    """The computation that follows a bucket ends when that bucket has arrived, and no sooner: were
    the communication to wait for it, neither would end."""
    elsewhere = torch.acme.Stream()
    buckets = [
        torch.full((1000,), float(world.rank + i), device=world.device) for i in range(BUCKETS)
    ]
    for i, bucket in enumerate(buckets):
        arrived, computed = (torch.acme.Event(enable_timing=True) for _ in range(2))
        work = dist.all_reduce(bucket, async_op=True)
        compute_until_complete(work)
        computed.record()
        with elsewhere:
            work.wait()
            arrived.record()
        computed.synchronize()
        arrived.synchronize()
        assert arrived.elapsed_time(computed) > 0
        assert bucket.tolist() == [2.0 * i + 1] * len(bucket)
