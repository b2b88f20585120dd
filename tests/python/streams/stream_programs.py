"""Random programs of stream calls against a sequential model; test_random_programs.py runs this.

A program moves and changes whole buffers on several streams. Before a buffer is used on a stream
that has not waited for its last use, the program waits in one of the ways there are. Then whatever
order the device runs things in, the buffers hold what a program without streams makes of them.
"""

from __future__ import annotations

import dataclasses
import sys

import torch
import torch_acme  # noqa: F401
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch.acme import Event, Stream

SIZE = 1 << 10
STREAMS_A_DEVICE = 3
BUFFERS_A_PLACE = 2


@dataclasses.dataclass
class Buffer:
    place: int  # a device's index; -1: pinned host memory
    tensor: torch.Tensor
    value: float = 0.0  # the model's
    used_on: Stream | None = None  # where the last use was enqueued; None: it is over


class Machine:
    """The buffers and streams of one program."""

    def __init__(self) -> None:
        self.devices = min(torch.acme.device_count(), 2)
        self.streams = [
            [torch.acme.default_stream(device), Stream(device), torch.Stream(f"acme:{device}")]
            for device in range(self.devices)
        ]
        self.buffers = [Buffer(-1, torch.zeros(SIZE, pin_memory=True)) for _ in range(2)]
        for device in range(self.devices):
            self.buffers += [
                Buffer(device, torch.zeros(SIZE, device=f"acme:{device}"))
                for _ in range(BUFFERS_A_PLACE)
            ]
        torch.acme.synchronize(0)
        torch.acme.synchronize(self.devices - 1)

    def wait_here(self, buffer: Buffer) -> None:
        """Waits until the buffer's last use is over."""
        before, buffer.used_on = buffer.used_on, None
        if before is not None:
            before.synchronize()

    def wait(self, buffer: Buffer, stream: Stream, how: int) -> None:
        """Makes `stream` run what it gets next after the buffer's last use."""
        before, buffer.used_on = buffer.used_on, None
        if before is None or before == stream:
            return
        match how:
            case 0:
                stream.wait_stream(before)
            case 1:
                event = Event()
                event.record(before)
                stream.wait_event(event)
            case 2:
                event = torch.Event("acme")
                event.record(before)
                with torch.acme.stream(stream):
                    event.wait()
            case 3:
                event = before.record_event()
                with Stream(
                    stream_id=stream.stream_id,
                    device_index=stream.device_index,
                    device_type=stream.device_type,
                ):
                    event.wait()
            case 4:
                event = Event(blocking=True)
                event.record(before)
                event.synchronize()
            case 5:
                torch.acme.synchronize(before.device)
            case 6:
                while not before.query():
                    pass
            case _:
                event = Event(enable_timing=True)
                event.record(before)
                while not event.query():
                    pass

    def change(self, buffer: Buffer, stream: Stream, how: int, number: int) -> None:
        if buffer.place < 0:
            self.wait_here(buffer)
            buffer.tensor += number
            buffer.value += number
            return
        self.wait(buffer, stream, how)
        with torch.acme.stream(stream):
            if number % 2:
                buffer.tensor.add_(number)
                buffer.value += number
            else:
                buffer.tensor.fill_(number)
                buffer.value = float(number)
        buffer.used_on = stream

    def copy(self, to: Buffer, source: Buffer, streams: tuple[int, int], how: int) -> None:
        if to is source:
            return
        if to.place < 0 and source.place < 0:
            for buffer in (to, source):
                self.wait_here(buffer)
            to.tensor.copy_(source.tensor)
            to.value = source.value
            return
        # The current streams of both devices are part of a copy: it comes after what either holds,
        # and before what either gets next.
        involved = {
            place: self.streams[place][stream]
            for place, stream in zip((to.place, source.place), streams, strict=True)
            if place >= 0
        }
        runs_on = involved[source.place if source.place >= 0 else to.place]
        for buffer in (to, source):
            self.wait(buffer, involved.get(buffer.place, runs_on), how)
        for stream in involved.values():
            torch.acme.set_stream(stream)
        to.tensor.copy_(source.tensor, non_blocking=True)
        for place in involved:
            torch.acme.set_stream(torch.acme.default_stream(place))
        to.value = source.value
        for buffer in (to, source):
            buffer.used_on = involved.get(buffer.place, runs_on)

    def check(self) -> None:
        for index, buffer in enumerate(self.buffers):
            self.wait_here(buffer)
            found = buffer.tensor.cpu()
            expected = torch.full((SIZE,), buffer.value)
            assert torch.equal(found, expected), (index, found[0].item(), buffer.value)


small = st.integers(0, 7)
stream_index = st.integers(0, STREAMS_A_DEVICE - 1)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("change"), small, stream_index, small, st.integers(0, 9)),
        st.tuples(st.just("copy"), small, small, st.tuples(stream_index, stream_index), small),
    ),
    max_size=25,
)


def run(program: list[tuple]) -> None:
    machine = Machine()
    buffers = machine.buffers
    for operation, first, *rest in program:
        buffer = buffers[first % len(buffers)]
        if operation == "change":
            stream, how, number = rest
            machine.change(buffer, machine.streams[max(buffer.place, 0)][stream], how, number)
        else:
            second, streams, how = rest
            machine.copy(buffer, buffers[second % len(buffers)], streams, how)
    machine.check()


if __name__ == "__main__":
    phases = [Phase.generate, Phase.shrink]
    if "--forget-to-wait" in sys.argv:
        Machine.wait = lambda self, buffer, stream, how: None
        Machine.wait_here = lambda self, buffer: None
        phases = [Phase.generate]  # which program it is does not matter
    settings(
        max_examples=25,
        deadline=None,
        database=None,
        derandomize=True,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )(given(steps)(run))()
    print("ran")
