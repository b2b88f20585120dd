"""torch.distributed: collectives and training over processes that share the work."""

from __future__ import annotations

import concurrent.futures
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import torch.distributed as dist

from ..backend import Backend
from ..check import Skipped, Unsupported, check, variants
from ..program import run_well

# What each process begins with: it has `rank`, `size`, and a device of its own if there are enough.
BEGIN = """
import torch.distributed as dist
warnings.simplefilter("ignore", FutureWarning)  # newer releases have newer names
rank, size, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
device = torch.device(device.type, rank % module.device_count())
torch.accelerator.set_device_index(device.index)
name = dist.Backend.default_device_backend_map[device.type]
dist.init_process_group(name, store=dist.FileStore(store, size), rank=rank, world_size=size)
assert dist.get_world_size() == size and dist.get_rank() == rank
def numbers(scale=1.0):
    return (torch.arange(4.0) + 10 * rank).to(device) * scale
def of_rank(other):
    return torch.arange(4.0) + 10 * other
def holds(x, expected):
    assert x.device == device, x.device
    assert torch.equal(x.cpu(), expected), (x.cpu(), expected)
"""
END = """
dist.destroy_process_group()
print("done")
"""


def need_group(backend: Backend) -> None:
    """Unsupported where no process group is registered for the device."""
    if not dist.is_available():
        raise Skipped("this torch is built without torch.distributed")
    found = dist.Backend.default_device_backend_map.get(backend.name)
    if found in (None, "fake"):
        raise Unsupported(f"no process group is registered for {backend.name}")


def in_processes(backend: Backend, size: int, body: str) -> None:
    """Runs source text in that many processes, which are one group; each has to end well."""
    need_group(backend)
    source = BEGIN + textwrap.dedent(body) + END
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")

        def process(rank: int) -> str:
            return run_well(backend, source, seconds=120, arguments=(str(rank), str(size), store))

        with concurrent.futures.ThreadPoolExecutor(size) as processes:
            for output in processes.map(process, range(size)):
                assert output.endswith("done"), output


COLLECTIVES = {
    "all_reduce": """
        x = numbers()
        dist.all_reduce(x)
        holds(x, sum(of_rank(r) for r in range(size)))
        x = numbers()
        dist.all_reduce(x, op=dist.ReduceOp.MAX)
        holds(x, of_rank(size - 1))
        x = numbers()
        work = dist.all_reduce(x, async_op=True)
        work.wait()
        holds(x * 2, 2 * sum(of_rank(r) for r in range(size)))
    """,
    "broadcast": """
        for source in range(size):
            x = numbers()
            dist.broadcast(x, src=source)
            holds(x, of_rank(source))
    """,
    "all_gather": """
        parts = [torch.empty(4, device=device) for _ in range(size)]
        dist.all_gather(parts, numbers())
        for r, part in enumerate(parts):
            holds(part, of_rank(r))
        whole = torch.empty(4 * size, device=device)
        dist.all_gather_into_tensor(whole, numbers())
        holds(whole, torch.cat([of_rank(r) for r in range(size)]))
    """,
    "reduce_scatter": """
        x = torch.cat([numbers(scale=1.0 + r) for r in range(size)])
        mine = torch.empty(4, device=device)
        dist.reduce_scatter_tensor(mine, x)
        holds(mine, (1.0 + rank) * sum(of_rank(r) for r in range(size)))
    """,
    "barrier and objects": """
        dist.barrier()
        things = [None] * size
        dist.all_gather_object(things, {"rank": rank})
        assert things == [{"rank": r} for r in range(size)], things
        listed = [["of", 0] if rank == 0 else None]
        dist.broadcast_object_list(listed, src=0)
        assert listed == [["of", 0]], listed
    """,
    "send and recv": """
        if size > 1:
            x = numbers()
            if rank == 0:
                dist.send(x, 1)
            if rank == 1:
                dist.recv(x, 0)
                holds(x, of_rank(0))
    """,
}


def collectives_give_what_they_should(backend: Backend, size: int, body: str) -> None:
    """A collective over the device's tensors has the right numbers on each process."""
    in_processes(backend, size, body)


def of_size(size: int, collectives: Callable[[str], bool]) -> dict[str, tuple]:
    return {
        f"{name}, {size}": (size, body) for name, body in COLLECTIVES.items() if collectives(name)
    }


@check(
    called_by="torch/distributed/distributed_c10d.py: init_process_group",
    without="programs have to name the process group, and find none",
)
def a_group_is_registered_for_the_device(backend: Backend) -> None:
    """A process group is the default one for the device, and is available."""
    need_group(backend)
    name = dist.Backend.default_device_backend_map[backend.name]
    assert dist.is_backend_available(name), f"{name} is not available"
    assert dist.get_default_backend_for_device(backend.device) == name


@check(
    called_by="torch/distributed/distributed_c10d.py: init_process_group",
    without="not even a program of one process runs",
)
def a_group_of_one_process_works(backend: Backend) -> None:
    """In a group of one process each collective gives the process its own numbers."""
    in_processes(backend, 1, "".join(textwrap.dedent(body) for body in COLLECTIVES.values()))


@check(
    called_by="torch/testing/_internal/distributed/fake_pg.py: _create_fake_pg",
    without="programs of many processes cannot be tried out in one",
)
def the_fake_group_takes_the_device(backend: Backend) -> None:
    """A group of the name "fake" has the device among its own, and takes its tensors."""
    if not dist.is_available():
        raise Skipped("this torch is built without torch.distributed")
    output = run_well(
        backend,
        textwrap.dedent(
            """
            import torch.distributed as dist
            from torch.testing._internal.distributed.fake_pg import FakeStore
            warnings.simplefilter("ignore", FutureWarning)  # newer releases have newer names
            dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
            kinds = {each.type for each in dist.group.WORLD._device_types}
            assert {device.type, "cpu"} <= kinds, f"the group is for {sorted(kinds)}"
            x = torch.ones(4, device=device)
            dist.all_reduce(x)
            parts = [torch.empty_like(x) for _ in range(4)]
            dist.all_gather(parts, x, group=dist.new_group())
            assert all(torch.equal(part.cpu(), torch.ones(4)) for part in parts)
            dist.destroy_process_group()
            print("done")
            """
        ),
        seconds=120,
    )
    assert output.endswith("done"), output


two = variants(
    check(
        called_by="torch/distributed/distributed_c10d.py: all_reduce",
        without="training over several processes gives wrong numbers, or hangs",
        level="standard",
    )(collectives_give_what_they_should),
    collectives_give_what_they_should,
    of_size(2, lambda name: True),
)


@check(
    called_by="torch/nn/parallel/distributed.py: DistributedDataParallel",
    without="models cannot be trained by several processes",
    level="standard",
)
def data_parallel_trains_as_one_process(backend: Backend) -> None:
    """Two processes with DistributedDataParallel, each with half of a batch, end in the parameters
    of one process with the whole batch."""
    in_processes(
        backend,
        2,
        """
        from torch import nn
        torch.manual_seed(0)
        alone = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
        together = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
        together.load_state_dict(alone.state_dict())
        parallel = nn.parallel.DistributedDataParallel(together, device_ids=[device.index])
        batch = torch.randn(6, 4, generator=torch.Generator().manual_seed(1)).to(device)
        half = batch[rank::size]
        for net, x in ((alone, batch), (parallel, half)):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for step in range(3):
                optimizer.zero_grad()
                net(x * (step + 1)).square().mean().backward()
                optimizer.step()
        for a, b in zip(alone.parameters(), together.parameters(), strict=True):
            assert b.device == device
            torch.testing.assert_close(a, b)
        """,
    )
