"""The order of work on streams, and who waits for whom."""

from __future__ import annotations

import threading
import time

import torch

from ..backend import Backend
from ..busy import (
    KINDS,
    default_stream,
    every_stream,
    keep_busy,
    pinned,
    seconds_of_work,
    streams_of,
)
from ..check import Skipped, Unsupported, check, variants

BESIDE_THE_CPU = True

SIZE = 1 << 14


def filled(backend: Backend, value: float, device: torch.device | None = None) -> torch.Tensor:
    return torch.full((SIZE,), float(value), device=device or backend.device)


def write_later(
    backend: Backend, x: torch.Tensor, value: float, milliseconds: int = 50
) -> torch.Tensor:
    """Puts work on the current stream, and behind it a copy that writes the value. A copy, since
    that waits for nothing on devices that compute some operators on the CPU. Keep what it
    returns: what is copied."""
    source = filled(backend, value, x.device)
    torch.accelerator.current_stream(x.device).synchronize()
    keep_busy(backend, milliseconds)
    x.copy_(source)
    return source


def holds(tensor: torch.Tensor, value: float) -> None:
    """The tensor has this value everywhere."""
    seen = tensor.cpu()
    assert seen.eq(value).all(), f"expected {value} everywhere, got {sorted(set(seen.tolist()))}"


def query_and_synchronize_tell_of_the_work(backend: Backend, kind: str) -> None:
    """query() is false until the work of the stream is done, and synchronize() waits for all of
    it."""
    (stream,) = streams_of(backend, 1, kind=kind)
    with stream:
        for _ in range(2):  # the first time may have to make things
            whole = seconds_of_work(backend, 60)
        begin = time.monotonic()
        keep_busy(backend, 60)
        enqueued = time.monotonic() - begin
        done_at_once = stream.query()
        stream.synchronize()
        waited = time.monotonic() - begin
    assert stream.query(), "there is work on the stream after synchronize()"
    assert waited > whole / 3, f"synchronize() returned after {waited:.3f} s, of {whole:.3f} s"
    # Whoever had to wait for long had been told that there is something to wait for.
    assert not (done_at_once and waited - enqueued > 0.03), "query() is true of a busy stream"


query_and_synchronize_tell_of_the_work_of = variants(
    check(
        called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: queryStream",
        without="a program takes results that are not there yet",
    )(query_and_synchronize_tell_of_the_work),
    query_and_synchronize_tell_of_the_work,
    KINDS,
)


@check(
    called_by="torch/accelerator/__init__.py: synchronize",
    without="timings and host reads see work that is not done",
)
def synchronize_waits_for_every_stream(backend: Backend) -> None:
    """torch.accelerator.synchronize() waits for the streams of a device that are not current too,
    and torch.<name>.synchronize() for the same."""
    streams = streams_of(backend, 2)
    waits = [lambda: torch.accelerator.synchronize(backend.device)]
    if hasattr(backend.module, "synchronize"):
        waits.append(lambda: backend.module.synchronize(backend.device))
    for wait in waits:
        for stream in streams:
            with stream:
                keep_busy(backend, 40)
        wait()
        assert all(stream.query() for stream in streams), "a stream still has work"


@check(
    called_by="torch/accelerator/__init__.py: synchronize",
    without="a program on two devices waits for the wrong one",
)
def synchronize_takes_a_device(backend: Backend) -> None:
    """torch.accelerator.synchronize(device) waits for that device, whichever one is current."""
    other = backend.other_device
    (there,) = streams_of(backend, 1, other)
    with there:
        keep_busy(Backend(other), 60)
    assert torch.accelerator.current_device_index() == backend.device.index
    torch.accelerator.synchronize(other)
    assert there.query(), f"there is work on {other} after synchronize({other})"


@check(
    called_by="torch/include/c10/core/Stream.h: Stream",
    without="results are computed from what was there before",
)
def work_of_a_stream_runs_in_order(backend: Backend) -> None:
    """What is enqueued on a stream sees all that was enqueued there before, and nothing of what
    comes later."""
    for where in every_stream(backend):
        with where:
            x, before, after, five = (filled(backend, value) for value in (0, 0, 0, 5))
            one = write_later(backend, x, 1)
            before.copy_(x)
            x.copy_(five)
            after.copy_(x)
            computed = x + one
            where.synchronize()
            holds(before, 1)
            holds(after, 5)
            holds(computed, 6)
            write_later(backend, x, 3)
            holds(x + one, 4)


@check(
    called_by="torch/include/ATen/ops/_local_scalar_dense.h: _local_scalar_dense",
    without="wrong numbers reach the CPU, now and then",
)
def the_host_reads_what_the_stream_has_written(backend: Backend) -> None:
    """cpu(), item(), tolist(), bool() and copies into tensors of the CPU wait for the current
    stream's work."""
    reads = {
        "cpu()": lambda x: x.cpu()[-1].item(),
        "to('cpu')": lambda x: x.to("cpu")[-1].item(),
        "item()": lambda x: x[-1].item(),
        "tolist()": lambda x: x[-2:].tolist()[-1],
        "copy_ to the CPU": lambda x: torch.zeros(SIZE).copy_(x)[-1].item(),
        "a strided copy": lambda x: x[::2].cpu()[-1].item(),
        "bool()": lambda x: 7 if bool(x[-1] == 7) else 0,
        "torch.equal": lambda x: 7 if torch.equal(x, filled(backend, 7)) else 0,
        "nonzero()": lambda x: 7 if x.nonzero().shape[0] == SIZE else 0,
        "numpy": lambda x: x.numpy(force=True)[-1].item(),
        "the storage's cpu()": lambda x: torch.empty(0).set_(x.untyped_storage().cpu())[-1].item(),
    }
    for where in every_stream(backend):
        with where:
            for name, read in reads.items():
                x = filled(backend, 0)
                source = write_later(backend, x, 7, 10)
                seen = read(x)
                assert seen == 7, f"{name} read {seen}, before the stream wrote 7"
            del source


@check(
    called_by="torch/include/ATen/ops/_copy_from.h: _copy_from",
    without="wrong numbers reach the device, now and then",
)
def a_copy_from_the_host_is_taken_at_once(backend: Backend) -> None:
    """Memory of the CPU that is not pinned may be written as soon as the copy from it has returned,
    also of one with non_blocking=True."""
    for where in every_stream(backend):
        with where:
            for non_blocking in (False, True):
                host = torch.full((SIZE,), 4.0)
                keep_busy(backend, 20)
                x = host.to(backend.device, non_blocking=non_blocking)
                host.fill_(-1)
                holds(x, 4)


def a_stream_waits_for_an_event(backend: Backend, kind: str) -> None:
    """After wait_event, a stream's work sees all that was on the other stream when the event was
    recorded."""
    producer, consumer = streams_of(backend, 2, kind=kind)
    x, y = filled(backend, 0), filled(backend, 0)
    torch.accelerator.synchronize()
    with producer:
        source = write_later(backend, x, 2)
    event = producer.record_event()
    consumer.wait_event(event)
    with consumer:
        y.copy_(x)
        z = x + 1
    consumer.synchronize()
    with consumer:
        holds(y, 2)
        holds(z, 3)
    del source


a_stream_waits_for_an_event_of = variants(
    check(
        called_by="torch/_C/__init__.pyi: wait_event",
        without="one stream computes from what another one has not written yet",
    )(a_stream_waits_for_an_event),
    a_stream_waits_for_an_event,
    KINDS,
)


def a_stream_waits_for_a_stream(backend: Backend, kind: str) -> None:
    """After wait_stream, a stream's work sees all that is on the other one; between a new stream
    and the default one too, both ways."""
    side, other = streams_of(backend, 2, kind=kind)
    default = default_stream(backend)
    for producer, consumer in ((side, other), (side, default), (default, side)):
        x, y = filled(backend, 0), filled(backend, 0)
        torch.accelerator.synchronize()
        with producer:
            source = write_later(backend, x, 2)
        consumer.wait_stream(producer)
        with consumer:
            y.copy_(x)
            consumer.synchronize()
            holds(y, 2)
        del source


a_stream_waits_for_a_stream_of = variants(
    check(
        called_by="torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py: foreach_all_gather",
        without="one stream computes from what another one has not written yet",
    )(a_stream_waits_for_a_stream),
    a_stream_waits_for_a_stream,
    KINDS,
)


@check(
    called_by="torch/nn/parallel/_functions.py: Scatter",
    without="a second device computes from what the first one has not written yet",
)
def streams_of_two_devices_wait_for_each_other(backend: Backend) -> None:
    """wait_stream orders work of two devices, and a copy between devices is in the order of
    both current streams."""
    (here,) = streams_of(backend, 1)
    (there,) = streams_of(backend, 1, backend.other_device)
    x, y = filled(backend, 0), filled(backend, 0, backend.other_device)
    torch.accelerator.synchronize(backend.device)
    torch.accelerator.synchronize(backend.other_device)
    with here:
        source = write_later(backend, x, 2)
    there.wait_stream(here)
    with there:
        y.copy_(x)
        there.synchronize()
        holds(y, 2)
    with here:
        source = write_later(backend, x, 9)
        moved = x.to(backend.other_device)
    torch.accelerator.synchronize(backend.device)
    torch.accelerator.synchronize(backend.other_device)
    holds(moved, 9)
    del source


def record_stream_keeps_the_memory(backend: Backend, kind: str) -> None:
    """A tensor that a stream was recorded for keeps its memory, after it is gone, until that
    stream's work is done."""
    (side,) = streams_of(backend, 1, kind=kind)
    for _ in range(3):
        x, y = filled(backend, 6), filled(backend, 0)
        torch.accelerator.synchronize()
        with side:
            keep_busy(backend)
            y.copy_(x)
        x.record_stream(side)
        del x
        others = [filled(backend, -1) for _ in range(8)]
        side.synchronize()
        with side:
            holds(y, 6)
        del others


record_stream_keeps_the_memory_of = variants(
    check(
        called_by="torch/distributed/fsdp/_runtime_utils.py: _unshard",
        without="memory is given to somebody else while a stream still reads it",
    )(record_stream_keeps_the_memory),
    record_stream_keeps_the_memory,
    KINDS,
)


@check(
    called_by="torch/utils/data/_utils/pin_memory.py: _pin_memory_loop",
    without="waiting for the device stops every other thread of the program",
)
def waiting_lets_other_threads_run(backend: Backend) -> None:
    """synchronize() of streams, events and devices lets go of Python's lock while it waits."""
    (stream,) = streams_of(backend, 1)
    event = torch.Event(backend.device)
    ran: list[float] = []
    stop = threading.Event()

    def count() -> None:
        while not stop.wait(0.001):
            ran.append(time.monotonic())

    waits = {
        "Stream.synchronize": stream.synchronize,
        "Event.synchronize": event.synchronize,
        "torch.accelerator.synchronize": lambda: torch.accelerator.synchronize(backend.device),
    }
    if hasattr(backend.module, "synchronize"):
        waits["the module's synchronize"] = lambda: backend.module.synchronize(backend.device)
    thread = threading.Thread(target=count)
    thread.start()
    try:
        for name, wait in waits.items():
            with stream:
                keep_busy(backend, 100)
                event.record()
            begin = time.monotonic()
            wait()
            end = time.monotonic()
            if end - begin > 0.05:
                during = [at for at in ran if begin + 0.01 < at < end - 0.01]
                assert during, f"no thread ran in the {end - begin:.3f} s of {name}"
    finally:
        stop.set()
        thread.join()


@check(
    called_by="torch/cuda/streams.py: ExternalStream",
    without="a library's stream cannot be used from PyTorch",
)
def an_external_stream_is_the_same_queue(backend: Backend) -> None:
    """A stream that is made of a native handle queues its work behind that stream's own."""
    make = getattr(backend.module, "get_stream_from_external", None) or getattr(
        backend.module, "ExternalStream", None
    )
    if make is None:
        raise Unsupported(f"torch.{backend.name} has neither ExternalStream nor a function for it")
    (stream,) = streams_of(backend, 1)
    external = make(stream.native_handle)
    assert external.device == backend.device
    x, y = filled(backend, 0), filled(backend, 0)
    torch.accelerator.synchronize()
    with stream:
        source = write_later(backend, x, 3)
    with external:
        y.copy_(x)
    external.synchronize()
    holds(y, 3)
    del source


@check(
    called_by="torch/utils/data/_utils/pin_memory.py: pin_memory",
    without="copies to the host wait for the device, and nothing overlaps",
)
def copies_to_pinned_memory_do_not_wait(backend: Backend) -> None:
    """A copy to pinned memory with non_blocking=True returns while the stream is busy, and is done
    when the stream is."""
    host = pinned(torch.zeros(SIZE))
    (stream,) = streams_of(backend, 1)
    with stream:
        x = filled(backend, 8)
        whole = seconds_of_work(backend, 100)
        begin = time.monotonic()
        keep_busy(backend, 100)
        enqueued = time.monotonic() - begin
        if enqueued > whole / 2:
            raise Skipped("the device has done its work before the call returns")
        host.copy_(x, non_blocking=True)
        returned = time.monotonic() - begin
        stream.synchronize()
    assert returned < 0.8 * whole, f"the copy waited: {returned:.3f} s of {whole:.3f} s"
    holds(host, 8)
