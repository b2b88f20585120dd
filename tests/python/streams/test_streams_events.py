"""torch.acme.Stream and torch.acme.Event."""

import gc
import sys
import threading
import weakref

import pytest
import torch
from torch.acme import Event, Stream

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]


# ---- Stream


@pytest.mark.parametrize("device", [None, -1, "acme"])
def test_without_an_index_it_is_on_the_current_device(two_devices, device):
    with torch.acme.device(1):
        assert Stream(device).device.index == 1


def test_a_stream_of_another_device_type_is_refused():
    with pytest.raises(ValueError, match="acme"):
        Stream(stream_id=0, device_index=0, device_type=0)


def test_numbers_beyond_8_bits_name_no_stream():
    device_type = torch.acme.default_stream().device_type

    def make(stream_id, device_index, device_type):
        Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)

    for call in (make, torch.acme._set_stream_by_id):
        for index in (256, 1 << 32, -256):
            with pytest.raises(torch.AcceleratorError, match=f"acme:{index} does not exist"):
                call(0, index, device_type)
        with pytest.raises(ValueError, match="expected a stream of acme, whose device type is"):
            call(0, 0, device_type + 256)


@pytest.mark.parametrize(
    ("arguments", "keywords"), [((0, 0, 0), {}), ((), {"colour": 1}), ((0, "high"), {})]
)
def test_wrong_arguments_are_type_errors(arguments, keywords):
    with pytest.raises(TypeError):
        Stream(*arguments, **keywords)


def test_comparison_and_hash():
    default = torch.acme.default_stream()
    assert default == torch.acme.default_stream()
    assert hash(default) == hash(torch.acme.default_stream())
    assert default == torch.accelerator.current_stream() == default
    assert (default != torch.acme.default_stream()) is False
    assert default != 1 and default not in (None, "stream")
    with pytest.raises(TypeError):
        _ = default < default
    assert {default: 1}[torch.acme.default_stream()] == 1


def test_repr():
    assert repr(torch.acme.default_stream()) == "<torch.acme.Stream device=acme:0 stream_id=0>"


def test_streams_can_be_subclassed_and_weakly_referenced():
    class Named(Stream):
        name = "mine"

    stream = Named(0)
    assert stream.name == "mine" and stream.query()
    watch = weakref.ref(stream)
    del stream
    gc.collect()
    assert watch() is None


def test_objects_do_not_pile_up_references_to_their_class():
    Stream(), Event()
    before = sys.getrefcount(Stream), sys.getrefcount(Event)
    for _ in range(100):
        Stream(), Event(), torch.acme.current_stream()
    assert (sys.getrefcount(Stream), sys.getrefcount(Event)) == before


def test_set_stream_takes_its_device_along(two_devices, real_streams):
    stream = Stream(1)
    torch.acme.set_stream(stream)
    assert torch.acme.current_stream() == stream
    assert torch.acme.current_device() == 1
    assert torch.accelerator.current_stream() == stream
    torch.acme.set_stream(None)
    assert torch.acme.current_stream() == stream
    torch.acme.set_stream(torch.acme.default_stream(1))


def test_set_stream_by_numbers(real_streams):
    stream = Stream()
    torch.acme._set_stream_by_id(stream.stream_id, stream.device_index, stream.device_type)
    assert torch.acme.current_stream() == stream


def test_a_stream_that_was_never_given_out_is_refused():
    forged = torch.Stream(
        stream_id=12345, device_index=0, device_type=torch.acme.current_stream().device_type
    )
    with pytest.raises(RuntimeError, match="never given out"):
        torch.acme.set_stream(forged)


@pytest.mark.parametrize("wrong", [1, "acme", torch.ones(1)])
def test_what_is_no_stream_is_refused(wrong):
    stream, event = Stream(), Event()
    for call in (
        torch.acme.set_stream,
        torch.acme.stream,
        stream.wait_stream,
        stream.wait_event,
        stream.record_event,
        event.record,
        event.wait,
        event.elapsed_time,
    ):
        with pytest.raises(TypeError, match="expected a torch"):
            call(wrong)


# ---- with torch.acme.stream(s)


def test_the_context_of_another_device(two_devices, real_streams):
    here, there = Stream(0), Stream(1)
    with torch.acme.stream(here):
        with torch.acme.stream(there):
            assert torch.acme.current_device() == 1
            assert torch.acme.current_stream() == there
            assert torch.acme.current_stream(0) == here
        assert torch.acme.current_device() == 0
        assert torch.acme.current_stream() == here
        assert torch.acme.current_stream(1) == torch.acme.default_stream(1)


def test_the_context_can_be_entered_again(real_streams):
    first, second = Stream(), Stream()
    context = torch.acme.stream(first)
    with context:
        with torch.acme.stream(second):
            with context:
                assert torch.acme.current_stream() == first
            assert torch.acme.current_stream() == second
        assert torch.acme.current_stream() == first
    assert torch.acme.current_stream() == torch.acme.default_stream()


@pytest.mark.parametrize("current", [False, True])
def test_a_stream_takes_its_device_along(two_devices, current):
    """Also one that is current there already, where torch.Stream stays on the device."""
    stream = torch.acme.Stream(1)
    if current:
        torch.acme.set_stream(stream)
        torch.acme.set_device(0)
    with stream as entered:
        assert entered is stream
        assert torch.acme.current_device() == 1 and torch.acme.current_stream() == stream
    assert torch.acme.current_device() == 0
    assert (torch.acme.current_stream(1) == stream) is (current or stream.stream_id == 0)
    torch.acme.set_stream(torch.acme.default_stream(1))


def test_a_stream_can_be_entered_again(real_streams):
    first, second = Stream(), Stream()
    with first:
        with second, first:
            assert torch.acme.current_stream() == first
        assert torch.acme.current_stream() == first
    assert torch.acme.current_stream() == torch.acme.default_stream()
    with pytest.raises(RuntimeError, match="not entered"):
        first.__exit__(None, None, None)


def test_threads_enter_one_stream_at_the_same_time(real_streams):
    shared = Stream()
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))
    left = []

    def first() -> None:
        torch.acme.set_stream(before := Stream())
        with shared:
            first_is_in.set()
            second_is_in.wait()
        left.append(torch.acme.current_stream() == before)
        first_is_out.set()

    def second() -> None:
        torch.acme.set_stream(before := Stream())
        first_is_in.wait()
        with shared:
            second_is_in.set()
            first_is_out.wait()
        left.append(torch.acme.current_stream() == before)

    threads = [threading.Thread(target=each) for each in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left == [True, True]


def test_a_stream_is_left_by_exceptions(two_devices):
    with pytest.raises(ZeroDivisionError), torch.acme.default_stream(1):
        raise ZeroDivisionError
    assert torch.acme.current_device() == 0


# ---- Event


def test_an_event_is_complete_until_it_is_recorded():
    event = Event()
    assert event.query()
    event.synchronize()
    event.wait()
    assert repr(event) == "<torch.acme.Event not recorded>"
    event.record()
    event.synchronize()
    assert event.query()
    assert repr(event) == "<torch.acme.Event device=acme:0>"


def test_record_event_makes_one_or_takes_one():
    stream = Stream()
    made = stream.record_event()
    assert type(made) is Event
    mine = Event()
    assert stream.record_event(mine) is mine
    assert stream.record_event(event=torch.Event("acme")) is not None


def test_an_event_takes_any_stream_of_the_device(two_devices):
    event = Event()
    event.record(Stream(1))
    event.record(stream=torch.acme.current_stream(1))
    event.wait(Stream(0))
    event.synchronize()
    assert event.query() and event.device.index == 1
    event.record(Stream(0))
    event.synchronize()
    assert event.query() and event.device.index == 0


def test_elapsed_time_is_of_one_device(two_devices):
    here, there = Event(enable_timing=True), Event(enable_timing=True)
    here.record(torch.acme.current_stream(0))
    there.record(torch.acme.current_stream(1))
    torch.acme.synchronize(0)
    torch.acme.synchronize(1)
    with pytest.raises(RuntimeError, match=r"one device.* 0 and 1"):
        here.elapsed_time(there)
