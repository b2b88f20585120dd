"""Work, futures, streams and groups in two processes."""

import time
import weakref

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from computed import Computed
from ranks import device, get, init, put, rank

group = init(device_id=device)  # connected now, so that no operation waits for that
assert type(group).__name__ == "ProcessGroup"
assert isinstance(group.transport, dist.ProcessGroupNCCL)
other = 1 - rank


def agree() -> None:
    """The processes wait for one another, through the CPU's part of the group."""
    dist.all_reduce(torch.zeros(1))


def nobody_waits_on_the_host() -> None:
    """The other process comes late. Until wait() neither this thread nor its stream waits."""
    x, y = put(rank + 1.0), put(5.0)
    if rank == 0:
        work = dist.all_reduce(x, async_op=True)
        future = work.get_future()
        z = torch.empty_like(y).copy_(y)
        torch.acme.current_stream().synchronize()
        assert get(z) == [5.0] and not work.is_completed()
        assert future.done()  # as NCCL's is: whoever waits for it waits on the stream
    agree()
    if rank == 1:
        work = dist.all_reduce(x, async_op=True)
    side = torch.acme.Stream()
    with torch.acme.stream(side):
        work.wait()
        assert get(x) == [3.0]
    assert work.is_completed() and work.is_success()
    if torch.__version__ >= "2.12":  # before, no exception of a Work comes to Python
        assert work.exception() is None
    assert work.result()[0] is x


def futures() -> None:
    x = put(1.0, 2.0)
    work = dist.all_reduce(x, async_op=True)
    future = work.get_future()
    streams = []

    def then(done: torch.futures.Future) -> torch.Tensor:
        streams.append(torch.acme.current_stream())
        return done.value()[0]

    value = future.then(then).wait()
    assert value.device == device and value.data_ptr() == x.data_ptr()
    assert streams[0] != torch.acme.default_stream()  # one that is behind the operation
    assert get(future.wait()[0]) == [2.0, 4.0]
    lists = [put(0.0), put(0.0)]
    value = dist.all_gather(lists, put(rank + 1.0), async_op=True).get_future().wait()
    assert [get(each) for each in value] == [[1.0], [2.0]]
    assert work.get_future_result().wait() == 0


def memory_stays_until_the_operation_is_over() -> None:
    """The process forgets a tensor that NCCL has not come to. Its memory is not given to others
    before, and is later."""
    used = torch.acme.memory_allocated()
    x = put(*[rank * 7.0] * 1000)
    if rank == 0:
        work, gone = dist.all_reduce(x, async_op=True), weakref.ref(x)
        of_tensor = torch.acme.memory_allocated() - used
        del x, work
        assert gone() is None
        assert torch.acme.memory_allocated() - used == of_tensor > 0
    agree()
    if rank == 1:
        dist.all_reduce(x)
        assert get(x) == [7.0] * 1000
    x = None
    # PyTorch's watchdog sees the end now and then, and the next operation gives the memory back.
    small = put(0)
    for _ in range(600):
        time.sleep(0.05)
        dist.all_reduce(small)
        is_over = torch.tensor(torch.acme.memory_allocated() - of_small(small) <= used)
        dist.all_reduce(is_over, dist.ReduceOp.MIN)
        if is_over:
            return
    raise AssertionError(f"{torch.acme.memory_allocated()} bytes, and {used} before")


def of_small(tensor: torch.Tensor) -> int:
    """The allocator's unit, which one number takes."""
    assert tensor.nbytes <= 512
    return 512


def streams_of_their_own() -> None:
    """An operation of a side stream is behind the work of that stream."""
    side = torch.acme.Stream()
    source = torch.full((1 << 20,), float(rank + 1)).pin_memory()
    with torch.acme.stream(side):
        x = torch.empty(1 << 20, device=device)
        x.copy_(source, non_blocking=True)
        work = dist.all_reduce(x, async_op=True)
    work.wait()
    assert x.cpu().unique().tolist() == [3.0]


def coalescing() -> None:
    tensors = [put(1.0), put(2.0, 3.0)]
    with dist._coalescing_manager(async_ops=True, device=device) as works:
        for each in tensors:
            dist.all_reduce(each)
    works.wait()
    assert [get(each) for each in tensors] == [[2.0], [4.0, 6.0]]
    outs = [torch.empty(2, device=device), torch.empty(4, device=device)]
    with dist._coalescing_manager(device=device):
        dist.all_gather_into_tensor(outs[0], put(rank))
        dist.all_gather_into_tensor(outs[1], put(rank, 5.0))
    assert [get(each) for each in outs] == [[0.0, 1.0], [0.0, 5.0, 1.0, 5.0]]
    # Of different kinds: one group of NCCL's, in which the receive may come first.
    got = put(0.0)
    dist.group.WORLD._start_coalescing(device)
    dist.irecv(got, other)
    dist.isend(put(rank + 10.0), other)
    dist.group.WORLD._end_coalescing(device).wait()
    assert get(got) == [other + 10.0]


def groups() -> None:
    both, mine = dist.new_group([0, 1]), [dist.new_group([0]), dist.new_group([1])][rank]
    x, y = put(1.0), put(1.0)
    first = dist.all_reduce(x, async_op=True)
    second = dist.all_reduce(y, group=both, async_op=True)
    second.wait()
    first.wait()
    z = put(1.0)
    dist.all_reduce(z, group=mine)
    assert [get(each) for each in (x, y, z)] == [[2.0], [2.0], [1.0]]
    here = dist.new_group([0, 1], backend="gloo")
    c = torch.ones(1)
    dist.all_reduce(c, group=here)
    assert c.tolist() == [2.0]


def functional_collectives() -> None:
    with Computed():
        x = functional.all_reduce(put(rank + 1.0), "sum", dist.group.WORLD)
        y = functional.all_gather_tensor(x + rank, 0, dist.group.WORLD)
        assert get(y + 1) == [4.0, 5.0]


def the_cpu() -> None:
    x = torch.ones(2)
    dist.all_reduce(x)
    assert x.tolist() == [2.0, 2.0]
    assert isinstance(dist.group.WORLD._get_backend(torch.device("cpu")), dist.ProcessGroupGloo)
    objects = [None, None]
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": 0}, {"rank": 1}]
    dist.barrier()
    assert dist.barrier(async_op=True).wait()


def captured() -> None:
    """As NCCL's collectives of torch.cuda are."""
    x = put(1.0)
    dist.all_reduce(x)
    torch.acme.synchronize()
    graph = torch.acme.ACMEGraph()
    with torch.acme.graph(graph):
        dist.all_reduce(x)
    graph.replay()
    graph.replay()
    assert get(x) == [8.0]


for each in (
    # The first one counts memory, before others leave some to the watchdog.
    *(memory_stays_until_the_operation_is_over, nobody_waits_on_the_host, futures),
    *(streams_of_their_own, coalescing, groups, functional_collectives, the_cpu, captured),
):
    each()
    agree()
    print(each.__name__)
