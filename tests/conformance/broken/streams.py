"""Streams and the order of work."""

from __future__ import annotations

import torch

from .defect import defect
from .kernels import replace


@defect("streams", "the_module_sets_and_tells_the_stream", says="current()", blind=True)
def stream_stays_current() -> None:
    """`with torch.acme.stream(s)` leaves s current when it ends."""
    torch.acme.StreamContext.__exit__ = lambda self, *_: None


@defect("sync_debug", "the_mode_warn_warns", says="no warning", blind=True)
def warning_mode_says_nothing() -> None:
    """set_sync_debug_mode("warn") is remembered, and nothing warns."""
    mode = [0]

    def set_sync_debug_mode(debug_mode):
        mode[0] = {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode)

    torch.acme.set_sync_debug_mode = set_sync_debug_mode
    torch.acme.get_sync_debug_mode = lambda: mode[0]


@defect("events", "elapsed_time_is_in_milliseconds[module]", says="ms, and the clock says")
def time_goes_backwards() -> None:
    """Event.elapsed_time() is negative."""
    was = torch.acme.Event.elapsed_time
    torch.acme.Event.elapsed_time = lambda self, end: -was(self, end)


@defect("events", "an_event_tells_when_the_work_is_done[module]", says="before its work was done")
def events_are_always_done() -> None:
    """Event.query() is true while the work is still running."""
    torch.acme.Event.query = lambda self: True


@defect("stream_order", "a_stream_waits_for_an_event[module]")
def streams_do_not_wait() -> None:
    """Stream.wait_event() and wait_stream() do nothing."""
    torch.acme.Stream.wait_event = lambda self, event: None
    torch.acme.Stream.wait_stream = lambda self, stream: None


@defect("streams", "the_modules_current_stream_is_the_threads_own", says="another thread's stream")
def threads_share_a_stream() -> None:
    """What one thread sets is the current stream of all."""
    shared = {}
    own, was = torch.acme.set_stream, torch.acme.current_stream

    def set_stream(stream):
        shared[stream.device] = stream
        own(stream)

    def current_stream(device=None):
        stream = was(device)
        return shared.get(stream.device, stream)

    torch.acme.set_stream = set_stream
    torch.acme.current_stream = current_stream


@defect("stream_order", "synchronize_waits_for_every_stream", says="still has work")
def synchronize_does_not_wait() -> None:
    """torch.acme.synchronize() returns at once."""
    torch.acme.synchronize = lambda device=None: None


@defect("graphs", "replays_compute_on_new_inputs")
def replays_do_nothing() -> None:
    """A graph's replay runs none of its work."""
    torch.acme.ACMEGraph.replay = lambda self: None


@defect("graphs", "a_capture_does_not_stop_other_devices", says="not permitted")
def capture_stops_other_devices() -> None:
    """While one device is captured, no tensor can be made on another one."""
    capturing = []

    @replace("empty.memory_format")
    def _(empty, *args, device=None, **kwargs):
        index = torch.acme.current_device() if device.index is None else device.index
        if capturing and index != capturing[-1]:
            raise RuntimeError("operation not permitted when stream is capturing")
        return empty(*args, device=device, **kwargs)

    begin, end = torch.acme.ACMEGraph.capture_begin, torch.acme.ACMEGraph.capture_end

    def capture_begin(self, *args, **kwargs):
        capturing.append(torch.acme.current_device())
        begin(self, *args, **kwargs)

    def capture_end(self):
        end(self)
        capturing.pop()

    torch.acme.ACMEGraph.capture_begin = capture_begin
    torch.acme.ACMEGraph.capture_end = capture_end


@defect("compile", "streams_and_events_outlive_a_break", says="wait() takes no stream")
def events_are_waited_for_by_the_current_stream_alone() -> None:
    """An event's wait() takes no stream."""

    class Event(torch.acme.Event):
        def wait(self, *streams):
            if streams:
                raise TypeError("wait() takes no stream")
            super().wait()

    torch.acme.Event = Event
