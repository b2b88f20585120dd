"""Pinned memory: host memory that the device copies from and to while the program goes on."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable

import torch
from torch.utils.data import DataLoader, TensorDataset

from ..backend import Backend
from ..busy import every_stream, keep_busy, pinned, stays_where_it_is
from ..check import Skipped, Unsupported, check
from .graphs import MEBIBYTE, capture, need_graphs

BESIDE_THE_CPU = True

SIZE = 1 << 14


def need_pinned(backend: Backend) -> None:
    if not torch.empty(8).pin_memory().is_pinned():
        raise Unsupported("pin_memory() gives memory that is not pinned")


@check(
    called_by="torch/include/ATen/detail/PrivateUse1HooksInterface.h: getPinnedMemoryAllocator",
    without="copies to and from the device cannot overlap with computation",
)
def every_way_makes_pinned_memory(backend: Backend) -> None:
    """pin_memory() and each factory with pin_memory=True give a tensor of the CPU that is
    pinned."""
    need_pinned(backend)
    makers = {
        "pin_memory()": lambda: torch.ones(64).pin_memory(),
        "empty": lambda: torch.empty(64, pin_memory=True),
        "zeros": lambda: torch.zeros(64, pin_memory=True),
        "tensor": lambda: torch.tensor([1.0, 2.0], pin_memory=True),
        "arange": lambda: torch.arange(64, pin_memory=True),
        "rand": lambda: torch.rand(64, pin_memory=True),
        "empty_like": lambda: torch.empty_like(torch.ones(64), pin_memory=True),
        "new_empty": lambda: torch.ones(4).new_empty(64, pin_memory=True),
        "empty_strided": lambda: torch.empty_strided((4, 4), (1, 4), pin_memory=True),
    }
    wrong = [
        name
        for name, make in makers.items()
        if not (x := make()).is_pinned() or x.device.type != "cpu"
    ]
    assert not wrong, f"not pinned: {', '.join(wrong)}"


@check(
    called_by="torch/include/ATen/detail/PrivateUse1HooksInterface.h: isPinnedPtr",
    without="is_pinned() lies, and copies that seem safe are races",
)
def only_pinned_memory_is_pinned(backend: Backend) -> None:
    """is_pinned() is true of pinned tensors and of views into their middle, and false of other
    memory of the CPU and of the device's."""
    assert not torch.ones(64).is_pinned(), "memory that nobody pinned is said to be"
    assert not torch.ones(4, device=backend.device).is_pinned()
    need_pinned(backend)
    x = torch.ones(64, 64).pin_memory()
    views = {"x[1:]": x[1:], "x[10:, 10:]": x[10:, 10:], "x.T": x.T, "the end": x.view(-1)[4095:]}
    wrong = [name for name, view in views.items() if not view.is_pinned()]
    assert not wrong, f"not pinned: {', '.join(wrong)}"
    assert x.pin_memory() is x, "what is pinned was pinned again"
    for other in (torch.ones(64), x.clone(), x + 1):
        assert not other.is_pinned(), "what was made beside pinned memory is said to be pinned"


@check(
    called_by="torch/include/ATen/detail/PrivateUse1HooksInterface.h: getPinnedMemoryAllocator",
    without="pinned batches hold other numbers than the data set",
)
def pinning_keeps_the_values(backend: Backend) -> None:
    """pin_memory() of a tensor, a transposed and an empty one, of each kind of numbers, has the
    same values, shape and dtype."""
    assert torch.empty(0, pin_memory=True).shape == (0,)
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64):
        x = torch.arange(24).reshape(4, 6).to(dtype)
        for source in (x, x.T, x[:, ::2], x[:0], x[1, 1]):
            made = source.pin_memory()
            assert made.dtype == dtype and made.shape == source.shape
            assert torch.equal(made, source)
            assert torch.equal(made.to(backend.device).cpu(), source)


@check(
    called_by="torch/_C/__init__.pyi: pin_memory",
    without="a mistake is found later, or never",
)
def the_devices_memory_cannot_be_pinned(backend: Backend) -> None:
    """pin_memory() of a tensor of the device, and a factory with pin_memory=True there, raise a
    RuntimeError."""
    for call in (
        lambda: torch.ones(4, device=backend.device).pin_memory(),
        lambda: torch.empty(4, device=backend.device, pin_memory=True),
    ):
        try:
            call()
        except RuntimeError as error:
            assert "pin" in str(error).lower(), error
        else:
            raise AssertionError("memory of the device was pinned")


@check(
    called_by="torch/storage.py: pin_memory",
    without="storages are not pinned, or not known to be",
)
def storages_are_pinned_too(backend: Backend) -> None:
    """The storage of a pinned tensor is pinned, and pin_memory() of a storage keeps its bytes."""
    if torch.__version__ < "2.13":
        raise Skipped("storages ask CUDA for the memory before torch 2.13")
    need_pinned(backend)
    storage = torch.arange(8, dtype=torch.uint8).untyped_storage()
    assert not storage.is_pinned()
    made = storage.pin_memory()
    assert made.is_pinned() and made.tolist() == list(range(8))
    assert torch.ones(4).pin_memory().untyped_storage().is_pinned()


@check(
    called_by="torch/utils/data/_utils/pin_memory.py: pin_memory",
    without="the batch on the device differs from the batch in memory",
)
def copies_that_do_not_block_are_right(backend: Backend) -> None:
    """Copies between pinned memory and the device with non_blocking=True have the right values once
    the stream is synchronized: contiguous, strided, and of another dtype."""
    for stream in every_stream(backend):
        with stream:
            for dtype in (torch.float32, torch.int32):
                host = torch.arange(float(SIZE)).reshape(128, -1).pin_memory()
                keep_busy(backend, 10)
                x = host.to(backend.device, dtype=dtype, non_blocking=True)
                strided = host.T.to(backend.device, non_blocking=True)
                y = x + 1
                back = torch.empty_like(host).pin_memory()
                back.copy_(y, non_blocking=True)
                across = torch.empty(strided.shape).pin_memory()
                across.copy_(strided, non_blocking=True)
                stream.synchronize()
                assert torch.equal(back, host + 1)
                assert torch.equal(across, host.T)


@check(
    called_by="torch/serialization.py: _save",
    without="files and results have numbers from before the copy",
)
def a_copy_to_the_cpu_that_does_not_block_is_right(backend: Backend) -> None:
    """x.to("cpu", non_blocking=True) has the right values once the stream is synchronized."""
    for stream in every_stream(backend):
        with stream:
            source = torch.full((SIZE,), 5.0, device=backend.device)
            x = torch.zeros(SIZE, device=backend.device)
            stream.synchronize()
            keep_busy(backend, 20)
            x.copy_(source)
            host = x.to("cpu", non_blocking=True)
            stream.synchronize()
            assert host.eq(5).all(), "not what the stream had written before the copy"


@check(
    called_by="torch/include/ATen/core/CachingHostAllocator.h: record_event",
    without="batches in flight are overwritten by the next ones",
)
def memory_of_a_copy_in_flight_is_not_reused(backend: Backend) -> None:
    """A pinned tensor may go while it is copied: the memory is given to nobody before the copy is
    done, in either direction."""
    need_pinned(backend)
    for stream in every_stream(backend):
        with stream:
            results, landed = [], []
            stream.synchronize()
            keep_busy(backend, 50)
            for value in range(8):
                host = torch.full((SIZE,), float(value)).pin_memory()
                results.append(host.to(backend.device, non_blocking=True))
                del host
                torch.full((SIZE,), -1.0).pin_memory()
            for x in results:
                landed.append(x.to("cpu", non_blocking=True))
            stream.synchronize()
            for value, (x, host) in enumerate(zip(results, landed, strict=True)):
                assert x.eq(value).all(), f"the copy of {value} holds {x[0].item()}"
                assert host.eq(value).all(), f"the copy back of {value} holds {host[0].item()}"
            # The other direction: what comes late may not land in somebody else's memory.
            keep_busy(backend, 50)
            for x in results:
                x.to("cpu", non_blocking=True)
            mine = [torch.full((SIZE,), -2.0).pin_memory() for _ in range(8)]
            stream.synchronize()
            assert all(host.eq(-2).all() for host in mine), "a late copy landed in other memory"


@check(
    called_by="torch/include/ATen/core/CachingHostAllocator.h: CachingHostAllocatorImpl",
    without="each batch pays for pinning, which takes longer than the copy",
)
def pinned_memory_is_cached(backend: Backend) -> None:
    """Pinned memory that is given back serves the next tensor of the size, and
    torch.accelerator.empty_host_cache() is there where torch has it."""
    need_pinned(backend)
    x = torch.empty(1 << 20, dtype=torch.uint8).pin_memory()
    address = x.data_ptr()
    del x
    gc.collect()
    again = torch.empty(1 << 20, dtype=torch.uint8).pin_memory()
    if again.data_ptr() != address:
        raise Unsupported("pinned memory is not cached")
    del again
    if hasattr(torch.accelerator, "empty_host_cache"):
        torch.accelerator.empty_host_cache()
        kept = torch.arange(64).pin_memory()
        assert kept.is_pinned() and kept.tolist() == list(range(64))


@check(
    called_by="torch/utils/data/dataloader.py: _BaseDataLoaderIter",
    without="DataLoader(pin_memory=True) fails, or its batches are wrong",
)
def a_data_loader_pins_its_batches(backend: Backend) -> None:
    """The batches of DataLoader(pin_memory=True) are pinned and have the data set's numbers, also
    on the device."""
    need_pinned(backend)
    features, labels = torch.arange(24.0).reshape(12, 2), torch.arange(12)
    seen = []
    for x, y in DataLoader(TensorDataset(features, labels), batch_size=4, pin_memory=True):
        assert x.is_pinned() and y.is_pinned(), "a batch is not pinned"
        seen.append((x.to(backend.device, non_blocking=True), y.to(backend.device)))
    assert torch.equal(torch.cat([x for x, _ in seen]).cpu(), features)
    assert torch.equal(torch.cat([y for _, y in seen]).cpu(), labels)


@check(
    called_by="torch/utils/data/_utils/pin_memory.py: _pin_memory_loop",
    without="DataLoader with workers fails in its pinning thread, or pins for another device",
    alone=True,
)
def a_data_loader_with_workers_pins_its_batches(backend: Backend) -> None:
    """With worker processes, the pinning thread gives pinned batches, and leaves the device that is
    current in the main thread."""
    need_pinned(backend)
    data = TensorDataset(torch.arange(24.0))
    with stays_where_it_is(backend):
        for index in range(backend.count):
            torch.accelerator.set_device_index(index)
            total = 0.0
            for (batch,) in DataLoader(data, 8, pin_memory=True, num_workers=2):
                assert batch.is_pinned(), "a batch is not pinned"
                moved = batch.to(backend.name, non_blocking=True)
                assert moved.device.index == index
                total += moved.sum().item()
            assert total == sum(range(24))
            assert torch.accelerator.current_device_index() == index


# ---- in graphs


@check(
    called_by="torch/include/ATen/core/CachingHostAllocator.h: record_event",
    without="inputs in pinned memory cannot be a part of the graph",
)
def pinned_memory_is_copied_at_each_replay(backend: Backend) -> None:
    """Copies from and to pinned memory are captured, and each replay copies what is there then."""
    need_graphs(backend)
    source, target = pinned(torch.ones(5)), pinned(torch.zeros(5))
    x = torch.zeros(5, device=backend.device)

    def there_and_back() -> None:
        x.copy_(source, non_blocking=True)
        target.copy_(x, non_blocking=True)

    graph, _ = capture(backend, there_and_back)
    assert target.tolist() == [0] * 5
    for value in (7.0, 8.0):
        source.fill_(value)
        graph.replay()
        torch.accelerator.synchronize()
        assert target.tolist() == [value] * 5


def need_graphs_here(backend: Backend) -> None:
    """Skipped where nothing can be captured: the other checks say that it is unsupported."""
    try:
        need_graphs(backend)
    except (Unsupported, NotImplementedError) as error:
        raise Skipped(f"needs graphs: {error}") from error


def addresses_of_pinned(use: Callable[[list[torch.Tensor]], object], rounds: int) -> int:
    """Of how many addresses pinned memory was, that each round takes, uses and lets go of."""
    seen = set()
    for _ in range(rounds):
        memory = [pinned(torch.empty(MEBIBYTE))]
        seen.add(memory[0].data_ptr())
        use(memory)
        memory.clear()
        gc.collect()
        torch.accelerator.synchronize()
    return len(seen)


@check(
    called_by="torch/include/ATen/core/CachingHostAllocator.h: free",
    without="programs that capture anew lose pinned memory until there is none",
)
def captures_give_pinned_memory_back(backend: Backend) -> None:
    """Pinned memory that a capture used, and that nobody has any more when it ends, serves again:
    after a capture that was broken off, and when the graph is gone."""
    need_graphs_here(backend)
    rounds = 10
    x = torch.zeros(MEBIBYTE, device=backend.device)

    def copies(memory: list[torch.Tensor]) -> None:
        x.copy_(memory[0], non_blocking=True)
        memory.clear()

    def fails(memory: list[torch.Tensor]) -> None:
        def body() -> None:
            copies(memory)
            raise KeyError("mine")

        with contextlib.suppress(KeyError):
            capture(backend, body)

    if addresses_of_pinned(copies, rounds) == rounds:
        raise Skipped("pinned memory does not serve again, also without captures")
    for use, what in (
        (fails, "a capture that was broken off"),
        (lambda memory: capture(backend, lambda: copies(memory)), "a graph that is gone"),
    ):
        assert addresses_of_pinned(use, rounds) < rounds, f"{what} keeps pinned memory for ever"


@check(
    called_by="torch/include/ATen/core/CachingHostAllocator.h: begin_allocate_to_pool",
    without="replays copy the memory of other tensors, silently",
)
def a_graph_keeps_the_pinned_memory_that_it_copies(backend: Backend) -> None:
    """Pinned memory that was made and copied in a capture holds the same at each replay, although
    its tensor is gone and others were made."""
    need_graphs_here(backend)
    x = torch.zeros(MEBIBYTE, device=backend.device)
    values = torch.full((MEBIBYTE,), 7.0)
    graph, _ = capture(backend, lambda: (x.copy_(pinned(values), non_blocking=True), None)[1])
    for _ in range(2):
        gc.collect()
        others = [pinned(torch.full((MEBIBYTE,), -1.0)) for _ in range(6)]
        x.zero_()
        graph.replay()
        torch.accelerator.synchronize()
        assert x.eq(7).all(), f"{x[0].item()}, expected 7: the graph copied another tensor"
        del others
