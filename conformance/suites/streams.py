"""Streams: what they are, and which one is current."""

from __future__ import annotations

import threading

import torch

from ..backend import Backend
from ..busy import (
    KINDS,
    default_stream,
    stays_where_it_is,
    streams_of,
)
from ..check import Unsupported, check, variants

BESIDE_THE_CPU = True


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
    """A new thread's current stream is the default one on each device, whatever others have set:
    the same for all threads, and no stream that was made."""
    for index in range(backend.count):
        device = torch.device(backend.name, index)
        before, made = default_stream(backend, device), torch.Stream(device)
        with made:
            seen = default_stream(backend, device)
        assert seen == before, f"two new threads begin on {before} and {seen}"
        assert seen.device == device, f"a stream of {device} is of {seen.device}"


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
    called_by="torch/utils/data/_utils/pin_memory.py: _pin_memory_loop",
    without="threads change each other's stream under their feet",
)
def the_modules_current_stream_is_the_threads_own(backend: Backend) -> None:
    """What a thread sets by torch.<name> is its own, and so is what torch.<name> tells it."""
    set_stream, current = backend.need("set_stream"), backend.need("current_stream")
    mine, others = streams_of(backend, 2, kind="module")
    seen: list[torch.Stream] = []

    def work() -> None:
        seen.append(current())
        set_stream(others)
        seen.append(current())

    before = current()
    set_stream(mine)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert current() == mine, "another thread's stream became this one's"
    finally:
        set_stream(before)
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
            x = torch.ones(8, device=backend.device) + 1
        stream.synchronize()
        assert x.tolist() == [2] * 8


@check(
    called_by="torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py: lazy_init",
    without="a program written for torch.cuda does not find the priorities",
)
def the_range_of_priorities_is_known(backend: Backend) -> None:
    """Stream.priority_range() is the least and the greatest priority, the greatest one the smaller
    number, with 0 in between; a stream has the one in it that is nearest to what was asked for."""
    backend.need("Stream.priority_range")
    least, greatest = backend.module.Stream.priority_range()
    assert greatest <= 0 <= least, f"({least}, {greatest})"
    for asked in (least, 0, greatest, -100, 100):
        got = backend.module.Stream(priority=asked).priority
        assert got == max(greatest, min(least, asked)), f"asked for {asked}, got {got}"


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
    called_by="torch/include/c10/core/Stream.h: native_handle",
    without="a vendor's library cannot be told the stream to work on",
)
def streams_have_native_handles(backend: Backend) -> None:
    """Stream.native_handle is a number that stays the same, and another one for another stream."""
    first, second = streams_of(backend, 2)
    try:
        handles = first.native_handle, second.native_handle
    except RuntimeError as error:
        if "doesn't support" not in str(error):  # what a guard without them raises
            raise
        raise Unsupported(str(error).splitlines()[0]) from None
    assert all(isinstance(handle, int) and handle for handle in handles), handles
    assert handles[0] == first.native_handle != handles[1]
