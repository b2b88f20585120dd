"""Streams: which one is current, and the order of the work on them."""

from __future__ import annotations

import threading
import time
import warnings

import torch

from ..backend import Backend
from ..busy import (
    KINDS,
    default_stream,
    every_stream,
    keep_busy,
    pinned,
    seconds_of_work,
    stays_where_it_is,
    streams_of,
)
from ..check import Skipped, Unsupported, check, variants

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


# ---- which stream is current


@check(
    called_by="torch/accelerator/__init__.py: current_stream",
    without="no generic code can tell on which stream it runs",
)
def the_current_stream_is_of_the_device(backend: Backend) -> None:
    """torch.accelerator.current_stream() is a torch.Stream of the device that was asked for."""
    for index in range(backend.count):
        device = torch.device(backend.name, index)
        for asked in (device, index, f"{backend.name}:{index}"):
            stream = torch.accelerator.current_stream(asked)
            assert isinstance(stream, torch.Stream)
            assert stream.device == device, f"asked for {device}, got a stream of {stream.device}"


@check(
    called_by="torch/accelerator/__init__.py: current_stream",
    without="work that was never told of a stream does not meet on one",
)
def a_process_begins_on_the_default_stream(backend: Backend) -> None:
    """A new thread's current stream is the default one, which has the id 0, on each device."""
    seen: list[int] = []

    def ask() -> None:
        for index in range(backend.count):
            seen.append(torch.accelerator.current_stream(index).stream_id)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert seen == [0] * backend.count, f"stream ids of a new thread: {seen}"


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: getNewStream",
    without="copies and computation cannot overlap",
)
def new_streams_are_others(backend: Backend) -> None:
    """Streams that are made one after the other are not equal, and none is the default stream."""
    streams = streams_of(backend, 3)
    assert len({stream.stream_id for stream in streams}) == 3
    assert len(set(streams)) == 3 and streams[0] != streams[1]
    assert all(stream != default_stream(backend) for stream in streams)
    assert all(stream.device == backend.device for stream in streams)


def streams_are_equal_by_their_numbers(backend: Backend, kind: str) -> None:
    """A stream that is made of another one's numbers is equal to it and has its hash."""
    make = torch.Stream if kind == "torch" else backend.need("Stream")
    stream = make(backend.device)
    again = make(
        stream_id=stream.stream_id,
        device_index=stream.device_index,
        device_type=stream.device_type,
    )
    assert again == stream and hash(again) == hash(stream), f"{again} and {stream}"
    assert {stream: "found"}[again] == "found"
    assert (stream == 1) is False and (stream != stream) is False
    assert str(backend.device.index) in repr(stream), repr(stream)


streams_are_equal_by_their_numbers_of = variants(
    check(
        called_by="torch/_C/__init__.pyi: Stream",
        without="streams cannot be keys, nor be compared",
    )(streams_are_equal_by_their_numbers),
    streams_are_equal_by_their_numbers,
    KINDS,
)


@check(
    called_by="torch/accelerator/__init__.py: set_stream",
    without="streams of a second device run on the first one",
)
def a_stream_is_on_its_device(backend: Backend) -> None:
    """A stream of another device is made there, and the current device stays."""
    other = backend.other_device
    before = torch.accelerator.current_device_index()
    stream = torch.Stream(other)
    assert stream.device == other
    assert torch.accelerator.current_device_index() == before


def a_stream_is_a_context(backend: Backend, kind: str) -> None:
    """`with stream:` makes it the current one and brings the one before back, also after an error
    and when contexts are nested."""
    first, second = streams_of(backend, 2, kind=kind)
    before = torch.accelerator.current_stream()
    with first:
        assert torch.accelerator.current_stream() == first
        with second:
            assert torch.accelerator.current_stream() == second
        assert torch.accelerator.current_stream() == first
    assert torch.accelerator.current_stream() == before
    try:
        with first:
            raise KeyError("an error in the block")
    except KeyError:
        assert torch.accelerator.current_stream() == before, "the error left its stream behind"
    else:
        raise AssertionError("the context swallowed the error")


a_stream_is_a_context_of = variants(
    check(
        called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: exchangeStream",
        without="`with stream:` runs work elsewhere, or leaves the thread there",
    )(a_stream_is_a_context),
    a_stream_is_a_context,
    KINDS,
)


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: exchangeStream",
    without="work meant for a second device runs on the first one",
)
def a_context_takes_its_device_along(backend: Backend) -> None:
    """`with stream:` of another device makes that device current, and comes back from it."""
    (there,) = streams_of(backend, 1, backend.other_device)
    here = torch.accelerator.current_stream()
    with there:
        assert torch.accelerator.current_device_index() == there.device.index
        assert torch.accelerator.current_stream() == there
        assert torch.accelerator.current_stream(backend.device) == here
        assert torch.empty(1, device=backend.name).device == there.device
    assert torch.accelerator.current_device_index() == here.device.index
    assert torch.accelerator.current_stream() == here
    assert torch.accelerator.current_stream(there.device) != there


@check(
    called_by="torch/accelerator/__init__.py: set_stream",
    without="training loops cannot choose their stream",
)
def set_stream_sets_stream_and_device(backend: Backend) -> None:
    """torch.accelerator.set_stream makes the stream current on its device, and the device too."""
    (stream,) = streams_of(backend, 1)
    with stays_where_it_is(backend):
        torch.accelerator.set_stream(stream)
        assert torch.accelerator.current_stream() == stream
        assert torch.accelerator.current_device_index() == stream.device.index
        if backend.count > 1:
            (there,) = streams_of(backend, 1, backend.other_device)
            try:
                torch.accelerator.set_stream(there)
                assert torch.accelerator.current_device_index() == there.device.index
                assert torch.accelerator.current_stream(stream.device) == stream, "one for all"
            finally:
                torch.accelerator.set_stream(default_stream(backend, there.device))


@check(
    called_by="torch/utils/data/_utils/pin_memory.py: _pin_memory_loop",
    without="threads change each other's stream under their feet",
)
def the_current_stream_is_the_threads_own(backend: Backend) -> None:
    """What one thread sets is not seen by another one, in either direction."""
    mine, others = streams_of(backend, 2)
    seen: list[torch.Stream] = []
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        seen.append(torch.accelerator.current_stream(backend.device))
        with others:
            entered.set()
            leave.wait(30)
            seen.append(torch.accelerator.current_stream(backend.device))

    with mine:
        thread = threading.Thread(target=work)
        thread.start()
        assert entered.wait(30), "the thread did not get on"
        current = torch.accelerator.current_stream(backend.device)
        leave.set()
        thread.join()
    assert current == mine, "another thread's stream became this one's"
    assert seen == [default_stream(backend), others], f"the other thread saw {seen}"


@check(
    called_by="torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py: lazy_init",
    without="FSDP2 fails where it makes its stream for all-gathers",
)
def streams_have_priorities(backend: Backend) -> None:
    """torch.Stream takes a priority, and one that the device does not have is brought into its
    range instead of refused."""
    for priority in (0, -1, 1, -100, 100):
        stream = torch.Stream(backend.device, priority=priority)
        with stream:
            x = filled(backend, 1) + 1
        stream.synchronize()
        holds(x, 2)


@check(
    called_by="torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py: lazy_init",
    without="a program written for torch.cuda does not find the priorities",
)
def the_range_of_priorities_is_known(backend: Backend) -> None:
    """Stream.priority_range() is the least and the greatest priority, the greatest one the smaller
    number, with 0 in between."""
    backend.need("Stream.priority_range")
    least, greatest = backend.module.Stream.priority_range()
    assert greatest <= 0 <= least, f"({least}, {greatest})"
    for priority in (least, 0, greatest):
        stream = backend.module.Stream(priority=priority)
        assert stream.priority == priority, f"asked for {priority}, got {stream.priority}"


# ---- the device module's own


@check(
    called_by="torch/_dynamo/variables/streams.py: StreamVariable",
    without="Dynamo does not know the streams, and breaks the graph or fails",
)
def the_modules_classes_are_torchs(backend: Backend) -> None:
    """torch.<name>.Stream is torch.Stream or a subclass, and so is what the module returns."""
    cls = backend.need("Stream")
    assert issubclass(cls, torch.Stream)
    stream = cls()
    assert isinstance(stream, cls) and stream.device.type == backend.name
    assert isinstance(backend.need("current_stream")(), torch.Stream)


@check(
    called_by="torch/distributed/checkpoint/filesystem.py: _OverlappingCpuLoader",
    without="distributed checkpoints crash when they are written",
)
def the_module_sets_and_tells_the_stream(backend: Backend) -> None:
    """torch.<name>.stream(s) is a context that torch.<name>.current_stream and torch.accelerator
    agree on, and nothing where `s` is None."""
    context, current = backend.need("stream"), backend.need("current_stream")
    (stream,) = streams_of(backend, 1)
    before = current()
    with context(stream):
        assert current() == stream == torch.accelerator.current_stream()
        with context(None):
            assert current() == stream
    assert current() == before == torch.accelerator.current_stream()
    if hasattr(backend.module, "set_stream"):
        try:
            backend.module.set_stream(stream)
            assert current() == stream == torch.accelerator.current_stream()
        finally:
            torch.accelerator.set_stream(before)
    for index in range(backend.count):
        assert current(index).device.index == index
        assert current(torch.device(backend.name, index)).device.index == index


@check(
    called_by="torch/cuda/__init__.py: default_stream",
    without="a program written for torch.cuda cannot get back to the default stream",
)
def the_module_has_the_default_stream(backend: Backend) -> None:
    """torch.<name>.default_stream(device) is the stream with the id 0 of that device, whichever one
    is current."""
    default = backend.need("default_stream")
    (stream,) = streams_of(backend, 1)
    with stream:
        assert default() == default_stream(backend)
        assert default(backend.device) != stream
    if backend.count > 1:
        assert default(backend.other_device).device == backend.other_device


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
    called_by="torch/include/c10/core/Stream.h: native_handle",
    without="a vendor's library cannot be told the stream to work on",
)
def streams_have_native_handles(backend: Backend) -> None:
    """Stream.native_handle is a number that stays the same, and another one for another stream."""
    first, second = streams_of(backend, 2)
    handles = first.native_handle, second.native_handle
    assert all(isinstance(handle, int) and handle for handle in handles), handles
    assert handles[0] == first.native_handle != handles[1]


# ---- work on them


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
    """synchronize() of streams and devices lets go of Python's lock while it waits."""
    (stream,) = streams_of(backend, 1)
    ran: list[float] = []
    stop = threading.Event()

    def count() -> None:
        while not stop.wait(0.001):
            ran.append(time.monotonic())

    waits = {
        "Stream.synchronize": stream.synchronize,
        "torch.accelerator.synchronize": lambda: torch.accelerator.synchronize(backend.device),
    }
    thread = threading.Thread(target=count)
    thread.start()
    try:
        for name, wait in waits.items():
            with stream:
                keep_busy(backend, 100)
            begin = time.monotonic()
            wait()
            end = time.monotonic()
            if end - begin > 0.05:
                during = [at for at in ran if begin + 0.01 < at < end - 0.01]
                assert during, f"no thread ran in the {end - begin:.3f} s of {name}"
    finally:
        stop.set()
        thread.join()


# ---- calls that wait for the device are found

SYNCHRONIZING = {
    "item()": lambda x: x[0].item(),
    "cpu()": lambda x: x.cpu(),
    "nonzero()": lambda x: x.nonzero(),
    "bool()": lambda x: bool(x[0] > 1),
    "a copy from the CPU": lambda x: x.copy_(torch.ones(4)),
    "Stream.synchronize()": lambda x: torch.accelerator.current_stream().synchronize(),
}


@check(
    called_by="torch/cuda/__init__.py: set_sync_debug_mode",
    without="calls that stop the device cannot be found",
)
def the_mode_warn_warns(backend: Backend) -> None:
    """With set_sync_debug_mode("warn") each call that waits for the device warns, and with
    "default" none does."""
    set_mode = backend.need("set_sync_debug_mode")
    x = torch.arange(4.0, device=backend.device)
    try:
        for name, call in SYNCHRONIZING.items():
            set_mode("warn")
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                call(x)
            set_mode("default")
            assert any("synchroniz" in str(w.message) for w in said), f"{name}: no warning"
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                call(x)
            assert not said, f"{name} warns in the default mode: {said[0].message}"
    finally:
        set_mode("default")


@check(
    called_by="torch/cuda/__init__.py: set_sync_debug_mode",
    without="calls that stop the device cannot be found",
)
def the_mode_error_raises(backend: Backend) -> None:
    """With set_sync_debug_mode("error") each call that waits for the device raises a RuntimeError,
    what does not wait is not reported, and get_sync_debug_mode() tells the mode."""
    set_mode, get_mode = backend.need("set_sync_debug_mode"), backend.need("get_sync_debug_mode")
    x, y = torch.arange(4.0, device=backend.device), torch.empty(4, device=backend.device)
    try:
        for mode, number in (("default", 0), ("warn", 1), ("error", 2), (1, 1), (2, 2)):
            set_mode(mode)
            assert get_mode() == number, f"{mode!r}: {get_mode()}"
        for name, call in SYNCHRONIZING.items():
            try:
                call(x)
            except RuntimeError as error:
                assert "synchroniz" in str(error), f"{name}: {error}"
            else:
                raise AssertionError(f"{name} waits for the device, and raised nothing")
        torch.empty(3, device=backend.device).zero_()
        y.copy_(x)
        torch.accelerator.current_stream().record_event().query()
    finally:
        set_mode("default")
    assert x.tolist() == [0, 1, 2, 3] and y.tolist() == x.tolist()


@check(
    called_by="torch/cuda/__init__.py: set_sync_debug_mode",
    without="a misspelt mode finds nothing",
)
def there_are_three_modes(backend: Backend) -> None:
    """set_sync_debug_mode refuses what is none of its modes, and keeps the one before."""
    set_mode, get_mode = backend.need("set_sync_debug_mode"), backend.need("get_sync_debug_mode")
    for mode in ("loud", 3, -1):
        try:
            set_mode(mode)
        except RuntimeError:
            assert get_mode() == 0
        else:
            set_mode("default")
            raise AssertionError(f"the mode {mode!r} was accepted")


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
