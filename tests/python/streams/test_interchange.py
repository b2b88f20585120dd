"""torch.Stream and torch.Event where ours are expected, and ours where torch's are."""

import pytest
import torch
from torch.acme import Event, Stream

pytestmark = pytest.mark.turns_on_groups


@pytest.fixture(params=["ours", "torchs"])
def stream(request) -> torch.Stream:
    return Stream() if request.param == "ours" else torch.Stream("acme")


@pytest.fixture(params=["ours", "torchs"])
def event(request) -> torch.Event:
    return Event() if request.param == "ours" else torch.Event("acme")


def test_it_can_be_selected(stream):
    for select in (torch.acme.stream, lambda it: it, torch.acme.StreamContext):
        with select(stream):
            assert torch.acme.current_stream() == stream
            assert torch.accelerator.current_stream() == stream
        assert torch.acme.current_stream() == torch.acme.default_stream()
    torch.acme.set_stream(stream)
    assert torch.acme.current_stream() == stream
    torch.accelerator.set_stream(torch.acme.default_stream())
    assert torch.acme.current_stream() == torch.acme.default_stream()


def test_an_event_is_recorded_and_waited_for(stream, event):
    event.record(stream)
    event.wait(stream)
    event.wait()
    Stream().wait_event(event)
    torch.Stream("acme").wait_event(event)
    event.synchronize()
    assert event.query()


def test_our_stream_records_either(event):
    assert Stream().record_event(event) is event
    event.synchronize()


def test_streams_wait_for_streams(stream):
    other, torchs = Stream(), torch.Stream("acme")
    for one, two in ((stream, other), (other, stream), (stream, torchs), (torchs, stream)):
        one.wait_stream(two)
    stream.synchronize()
    assert stream.query()


def test_they_are_equal_when_they_are_the_same(stream):
    numbers = {
        "stream_id": stream.stream_id,
        "device_index": stream.device_index,
        "device_type": stream.device_type,
    }
    same = (Stream(**numbers), torch.Stream(**numbers), stream)
    assert len({hash(one) for one in same}) == 1
    assert all(one == two for one in same for two in same)
    assert not any(one != two for one in same for two in same)
    assert len(set(same)) == 1


def test_tensors_can_be_recorded_on_either(stream):
    x = torch.ones(8, device="acme")
    x.record_stream(stream)
    x.untyped_storage()
    del x
    stream.synchronize()


def test_the_accelerators_functions_take_either(stream):
    torch.accelerator.set_stream(stream)
    assert torch.accelerator.current_stream() == stream
    torch.accelerator.synchronize()


def test_streams_of_other_devices_are_told_apart(two_devices):
    here, there = torch.acme.default_stream(0), torch.acme.default_stream(1)
    assert here != there and hash(here) != hash(there)
    assert here.stream_id == there.stream_id == 0


def test_a_stream_waits_across_devices(two_devices, stream):
    there = Stream(1)
    with torch.acme.stream(there):
        x = torch.full((1 << 14,), 2.0, device="acme")
    stream.wait_stream(there)
    with torch.acme.stream(stream):
        y = x.to("acme:0", non_blocking=True) + 1
    stream.synchronize()
    assert torch.equal(y.cpu(), torch.full((1 << 14,), 3.0))


def test_an_event_recorded_elsewhere_is_waited_for_here(two_devices, event):
    event.record(Stream(1))
    Stream(0).wait_event(event)
    torch.acme.current_stream(0).wait_event(event)
    torch.acme.synchronize(0)
    assert event.device.index == 1
