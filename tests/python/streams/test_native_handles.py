"""The driver's own streams and events, on their way to a ctypes function and back."""

import ctypes

import pytest
import torch
from torch.acme import Event, ExternalStream, Stream

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]


@pytest.mark.parametrize("kind", [Stream, Event])
def test_members_are_explained(kind):
    own = [name for name in vars(kind) if not name.startswith("_")]
    assert len(own) >= 6
    assert all(getattr(kind, name).__doc__ for name in own)


@pytest.fixture
def native(real_streams) -> None:
    try:
        _ = Stream().native_handle
    except NotImplementedError:
        pytest.skip("this runtime has no group native")


def as_ctypes_sees(argument) -> int | None:
    """What a C function with a void* parameter is given for `argument`."""
    return ctypes.cast(argument._as_parameter_, ctypes.c_void_p).value


def test_a_stream_has_its_drivers_handle(native):
    one, other = Stream(), Stream()
    assert isinstance(one.native_handle, int)
    assert one.native_handle == one.native_handle != other.native_handle
    assert as_ctypes_sees(one) == one.native_handle


def test_ctypes_takes_a_stream_and_an_event_as_they_are(native):
    stream = Stream()
    event = stream.record_event()
    same = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda pointer: pointer)
    assert same(stream._as_parameter_) == stream.native_handle
    assert same(event._as_parameter_) == event.native_handle


def test_an_event_has_a_handle_once_it_is_recorded(native):
    event = Event()
    assert event.native_handle == 0
    assert as_ctypes_sees(event) is None
    event.record()
    assert event.native_handle != 0
    assert as_ctypes_sees(event) == event.native_handle


def test_an_external_stream_stands_for_the_drivers(native):
    owner = Stream()
    external = ExternalStream(owner.native_handle, owner.device)
    assert isinstance(external, Stream)
    assert (ExternalStream.__module__, ExternalStream.__qualname__) == (
        "torch.acme",
        "ExternalStream",
    )
    assert external.native_handle == owner.native_handle
    assert external.device == owner.device
    assert external == ExternalStream(stream_ptr=owner.native_handle, device=owner.device)
    assert external == torch.acme.get_stream_from_external(owner.native_handle, owner.device)
    assert type(torch.acme.get_stream_from_external(owner.native_handle)) is Stream


def test_an_external_stream_is_on_the_current_device_unless_told(native, two_devices):
    with torch.acme.device(1):
        owner = Stream()
        assert ExternalStream(owner.native_handle).device.index == 1
    assert torch.acme.get_stream_from_external(owner.native_handle, 1).device.index == 1
    assert torch.acme.current_device() == 0


@pytest.mark.parametrize("wrong", ["0x10", 1.5, None])
def test_a_handle_is_an_int(wrong):
    with pytest.raises(TypeError, match="int"):
        ExternalStream(wrong)
    with pytest.raises(TypeError, match="int"):
        torch.acme.get_stream_from_external(wrong)


def test_a_handle_on_a_device_that_is_not_there_is_refused():
    with pytest.raises(torch.AcceleratorError, match="does not exist"):
        ExternalStream(1, 99)


def test_without_native_handles_the_group_is_named(real_streams_absent):
    for call in (lambda: ExternalStream(1), lambda: torch.acme.get_stream_from_external(1)):
        with pytest.raises(NotImplementedError, match="native"):
            call()
    with pytest.raises(NotImplementedError, match="streams"):
        _ = Stream().native_handle


def test_nothing_is_captured_where_nothing_captures():
    assert torch.acme.is_current_stream_capturing() is False
    assert Stream().is_capturing() is False
    assert torch.acme.current_stream().is_capturing() is False
