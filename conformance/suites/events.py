"""Events: points in the work of a stream that can be asked for, waited for and timed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import torch

from ..backend import Backend
from ..busy import (
    KINDS,
    default_stream,
    event_of,
    every_stream,
    keep_busy,
    seconds_of_work,
    streams_of,
)
from ..check import Unsupported, check, variants

BESIDE_THE_CPU = True

SIZE = 1 << 14


def timed_event(backend: Backend) -> torch.Event:
    return torch.Event(backend.device, enable_timing=True)


def soon(query: Callable[[], bool]) -> bool:
    """Whether it is true at once, or nearly: a stream that has come to its last event may need a
    moment to see that there is nothing more."""
    end = time.monotonic() + 0.02
    while not query() and time.monotonic() < end:
        time.sleep(0.001)
    return query()


def refused(call: Callable[[], object], *kinds: type[Exception]) -> Exception:
    """The exception that the call raises, of one of the kinds."""
    try:
        call()
    except kinds as error:
        return error
    raise AssertionError("the call was accepted")


def an_event_without_a_recording_is_complete(backend: Backend, kind: str) -> None:
    """query() of an event that was never recorded is true, and synchronize() and wait() return at
    once."""
    event = event_of(backend, kind)
    assert event.query() is True
    event.synchronize()
    event.wait()
    torch.accelerator.current_stream().wait_event(event)
    assert torch.accelerator.current_stream().query() in (True, False)


an_event_without_a_recording_is_complete_of = variants(
    check(
        called_by="torch/_C/__init__.pyi: Event",
        without="programs that record an event only sometimes hang or crash",
    )(an_event_without_a_recording_is_complete),
    an_event_without_a_recording_is_complete,
    KINDS,
)


def an_event_tells_when_the_work_is_done(backend: Backend, kind: str) -> None:
    """query() is false until the work before the recording is done, and synchronize() waits for
    it."""
    for stream in every_stream(backend, kind):
        with stream:
            for _ in range(2):  # the first time may have to make things
                whole = seconds_of_work(backend, 60)
            event = event_of(backend, kind)
            begin = time.monotonic()
            keep_busy(backend, 60)
            event.record()
            enqueued = time.monotonic() - begin
            done_at_once = event.query()
            event.synchronize()
            waited = time.monotonic() - begin
        assert event.query(), "not complete after synchronize()"
        assert waited > whole / 3, f"synchronize() returned after {waited:.3f} s of {whole:.3f} s"
        assert not (done_at_once and waited - enqueued > 0.03), "complete before its work was done"


an_event_tells_when_the_work_is_done_of = variants(
    check(
        called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: queryEvent",
        without="a program takes results that are not there yet",
    )(an_event_tells_when_the_work_is_done),
    an_event_tells_when_the_work_is_done,
    KINDS,
)


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: record",
    without="waiting for an event means waiting for the whole device",
)
def an_event_is_of_what_came_before_it(backend: Backend) -> None:
    """Work that is enqueued after the recording does not make the event wait."""
    for stream in every_stream(backend):
        with stream:
            whole = seconds_of_work(backend, 100)
            event = torch.Event(backend.device)
            event.record()
            begin = time.monotonic()
            keep_busy(backend, 100)
            enqueued = time.monotonic() - begin
            event.synchronize()
            waited = time.monotonic() - begin
            stream.synchronize()
        if enqueued < whole / 4:
            assert waited < 0.8 * whole, "the event waited for work that came after it"


def an_event_is_recorded_on_the_stream_that_is_given(backend: Backend, kind: str) -> None:
    """record() takes the current stream, record(stream) that one, and stream.record_event()
    returns an event of the stream."""
    first, second = streams_of(backend, 2, kind=kind)
    with first:
        keep_busy(backend, 60)
        on_the_other = event_of(backend, kind)
        on_the_other.record(second)
        on_the_current = event_of(backend, kind)
        on_the_current.record()
        made = first.record_event()
        mine = event_of(backend, kind)
        assert first.record_event(mine) is mine
    for event in (on_the_current, made, mine):
        event.synchronize()
        assert event.device == backend.device
    assert soon(first.query), "an event of the stream was complete before the stream's work"
    on_the_other.synchronize()


an_event_is_recorded_on_the_stream_that_is_given_of = variants(
    check(
        called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: record",
        without="events order the work of the wrong stream",
    )(an_event_is_recorded_on_the_stream_that_is_given),
    an_event_is_recorded_on_the_stream_that_is_given,
    KINDS,
)


def wait_orders_the_current_stream(backend: Backend, kind: str) -> None:
    """event.wait() makes the current stream wait, event.wait(stream) that one, and neither the
    host."""
    producer, consumer = streams_of(backend, 2, kind=kind)
    source = torch.full((SIZE,), 3.0, device=backend.device)
    for on_current in (True, False):
        x, y = (torch.zeros(SIZE, device=backend.device) for _ in range(2))
        torch.accelerator.synchronize()
        whole = seconds_of_work(backend, 60)
        with producer:
            begin = time.monotonic()
            keep_busy(backend, 60)
            enqueued = time.monotonic() - begin
            x.copy_(source)
            event = producer.record_event()
        with consumer:
            begin = time.monotonic()
            if on_current:
                event.wait()
        if not on_current:
            event.wait(consumer)
        waited = time.monotonic() - begin
        with consumer:
            y.copy_(x)
            consumer.synchronize()
            assert y.eq(3).all(), "the stream did not wait for the event"
        if enqueued < whole / 4:
            assert waited < 0.8 * whole, "wait() made the host wait"


wait_orders_the_current_stream_of = variants(
    check(
        called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: block",
        without="one stream computes from what another one has not written yet",
    )(wait_orders_the_current_stream),
    wait_orders_the_current_stream,
    KINDS,
)


def an_event_is_recorded_again(backend: Backend, kind: str) -> None:
    """A second recording takes the place of the first one, on another stream too."""
    first, second = streams_of(backend, 2, kind=kind)
    event = event_of(backend, kind)
    event.record(first)
    event.synchronize()
    x, y = (torch.zeros(SIZE, device=backend.device) for _ in range(2))
    source = torch.full((SIZE,), 3.0, device=backend.device)
    torch.accelerator.synchronize()
    for stream in (second, first):
        with stream:
            keep_busy(backend, 60)
            x.copy_(source)
            event.record()
        with default_stream(backend):
            event.wait()
            y.copy_(x)
        event.synchronize()
        assert soon(stream.query), "the event is complete, and its stream's work is not"
        assert y.eq(3).all(), "wait() was for the recording before"
        x.zero_()
        y.zero_()
        torch.accelerator.synchronize()


an_event_is_recorded_again_of = variants(
    check(
        called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: record",
        without="an event that is used again stands for its first recording",
    )(an_event_is_recorded_again),
    an_event_is_recorded_again,
    KINDS,
)


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: record",
    without="an event cannot order the work of two devices",
)
def an_event_goes_between_devices(backend: Backend) -> None:
    """A stream waits for an event of another device, and neither call changes the current
    device."""
    other = backend.other_device
    (there,) = streams_of(backend, 1, other)
    x = torch.zeros(SIZE, device=other)
    y = torch.zeros(SIZE, device=backend.device)
    source = torch.full((SIZE,), 3.0, device=other)
    torch.accelerator.synchronize(other)
    with there:
        keep_busy(Backend(other))
        x.copy_(source)
    event = there.record_event()
    assert event.device == other
    assert torch.accelerator.current_device_index() == backend.device.index
    event.wait()
    y.copy_(x)
    assert y.eq(3).all(), "the stream did not wait for the other device's event"
    assert torch.accelerator.current_device_index() == backend.device.index


def elapsed_time_is_in_milliseconds(backend: Backend, kind: str) -> None:
    """elapsed_time measures the work between two events, in milliseconds, and is negative the other
    way round."""
    begin, end = (
        event_of(backend, kind, enable_timing=True),
        event_of(backend, kind, enable_timing=True),
    )
    stream = every_stream(backend, kind)[-1]
    with stream:
        seconds_of_work(backend, 80)
        begin.record()
        started = time.monotonic()
        keep_busy(backend, 80)
        end.record()
        end.synchronize()
        took = (time.monotonic() - started) * 1000
    elapsed = begin.elapsed_time(end)
    assert isinstance(elapsed, float)
    assert took / 3 < elapsed < took * 1.2 + 5, f"{elapsed} ms, and the clock says {took} ms"
    assert end.elapsed_time(begin) <= 0 and begin.elapsed_time(begin) == 0


elapsed_time_is_in_milliseconds_of = variants(
    check(
        called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: elapsedTime",
        without="timings are wrong",
    )(elapsed_time_is_in_milliseconds),
    elapsed_time_is_in_milliseconds,
    KINDS,
)


@check(
    called_by="torch/include/c10/core/impl/InlineEvent.h: elapsedTime",
    without="a program that forgot enable_timing gets some number for a time",
)
def elapsed_time_needs_timing_and_recordings(backend: Backend) -> None:
    """elapsed_time of events that were not made with enable_timing=True, were not recorded, or are
    not complete raises an error."""
    plain, timed = torch.Event(backend.device), timed_event(backend)
    refused(lambda: timed_event(backend).elapsed_time(timed), RuntimeError, ValueError)
    plain.record()
    timed.record()
    torch.accelerator.synchronize()
    refused(lambda: plain.elapsed_time(timed), RuntimeError, ValueError)
    refused(lambda: timed.elapsed_time(plain), RuntimeError, ValueError)
    refused(lambda: timed.elapsed_time(timed_event(backend)), RuntimeError, ValueError)
    assert timed.elapsed_time(timed) == 0


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: destroyEvent",
    without="a long run leaks events or crashes in one",
)
def events_may_go_while_they_are_pending(backend: Backend) -> None:
    """An event that is destroyed before its work is done neither crashes nor makes anybody wait for
    what is wrong."""
    stream = every_stream(backend)[-1]
    with stream:
        keep_busy(backend, 60)
        for _ in range(500):
            stream.record_event()
        last = stream.record_event()
        last.synchronize()
    assert soon(stream.query) and last.query()


@check(
    called_by="torch/_C/__init__.pyi: Event",
    without="a program that asks for an event that blocks gets none",
)
def events_take_torchs_options(backend: Backend) -> None:
    """torch.Event and the module's take enable_timing and blocking, each alone and both, and such
    events record, wait and synchronize as any."""
    for kind, timing, blocking in itertools.product(KINDS, (False, True), (False, True)):
        if kind == "module" and not hasattr(backend.module, "Event"):
            continue
        options = {"enable_timing": timing, "blocking": blocking}
        event = event_of(backend, kind, **options)
        x = torch.ones(8, device=backend.device) + 1
        event.record()
        event.synchronize()
        event.wait()
        assert event.query() and x.tolist() == [2] * 8, options
        if timing:
            assert event.elapsed_time(event) == 0


@check(
    called_by="torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py: FSDPCommContext",
    without="FSDP2 fails where it makes its events",
)
def the_modules_event_is_torchs(backend: Backend) -> None:
    """torch.<name>.Event is torch.Event or a subclass, is made without a device, and is what a
    stream of the module's records."""
    cls = backend.need("Event")
    assert issubclass(cls, torch.Event)
    event = cls()
    assert event.query()
    event.record()
    event.synchronize()
    assert event.query() and event.device == backend.device
    stream = backend.need("current_stream")()
    recorded = stream.record_event()
    assert isinstance(recorded, torch.Event)
    stream.wait_event(cls())
    timed = cls(enable_timing=True)
    timed.record(stream)
    timed.synchronize()
    assert timed.elapsed_time(timed) == 0


@check(
    called_by="torch/multiprocessing/reductions.py: rebuild_event",
    without="a program written for torch.cuda cannot send events to other processes",
)
def an_event_has_a_handle_for_other_processes(backend: Backend) -> None:
    """An event made with interprocess=True has a handle, and one made without it has none."""
    cls = backend.need("Event")
    if not hasattr(cls, "ipc_handle"):
        raise Unsupported(f"torch.{backend.name}.Event has no ipc_handle")
    event = cls(interprocess=True)
    event.record()
    handle = event.ipc_handle()
    assert isinstance(handle, bytes) and handle
    plain = cls()
    plain.record()
    refused(plain.ipc_handle, RuntimeError, ValueError)
