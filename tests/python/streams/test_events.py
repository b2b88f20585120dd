"""torch.acme.Event: what it is made with, elapsed time, and its ways between processes."""

import subprocess
import sys

import pytest
import torch
from torch.acme import Event

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]


@pytest.fixture
def real_ipc(real_streams) -> None:
    try:
        Event(interprocess=True)
    except NotImplementedError:
        pytest.skip("this runtime has no group ipc")


def recorded(**options) -> Event:
    event = Event(**options)
    event.record()
    event.synchronize()
    return event


def test_the_arguments_come_in_torch_cudas_order():
    timed = Event(True, True)
    timed.record()
    timed.synchronize()
    assert timed.elapsed_time(timed) == 0


def test_nodes_of_a_graph_that_record_events_are_refused():
    with pytest.raises(NotImplementedError, match="external"):
        Event(external=True)


@pytest.mark.parametrize("plain", [{}, {"blocking": True}])
def test_elapsed_time_needs_timing(plain):
    timed, untimed = recorded(enable_timing=True), recorded(**plain)
    for begin, end in ((timed, untimed), (untimed, timed), (untimed, untimed)):
        with pytest.raises(ValueError, match="enable_timing=True"):
            begin.elapsed_time(end)


def test_elapsed_time_needs_recordings():
    timed, never = recorded(enable_timing=True), Event(enable_timing=True)
    for begin, end in ((timed, never), (never, timed), (never, never)):
        with pytest.raises(ValueError, match="must be recorded"):
            begin.elapsed_time(end)


def test_elapsed_time_is_of_acmes_events():
    with pytest.raises(ValueError, match="acme"):
        recorded(enable_timing=True).elapsed_time(torch.Event("cpu", enable_timing=True))


def test_elapsed_time_takes_torchs_events():
    end = torch.Event("acme", enable_timing=True)
    begin = recorded(enable_timing=True)
    end.record(torch.acme.current_stream())
    end.synchronize()
    assert begin.elapsed_time(end) >= 0


# ---- between processes


def test_without_ipc_the_group_is_named(real_streams_absent):
    with pytest.raises(NotImplementedError, match="ipc"):
        Event(interprocess=True)
    with pytest.raises(NotImplementedError, match="ipc"):
        Event.from_ipc_handle("acme:0", b"1234")


def test_an_event_between_processes_has_no_clock(real_ipc):
    with pytest.raises(ValueError, match="cannot measure time"):
        Event(enable_timing=True, interprocess=True)


def test_only_what_was_made_for_it_has_a_handle():
    with pytest.raises(ValueError, match="interprocess=True"):
        recorded().ipc_handle()


def test_an_event_that_was_never_recorded_goes_to_the_current_device(real_ipc, two_devices):
    event = Event(interprocess=True)
    with torch.acme.device(1):
        handle = event.ipc_handle()
    assert isinstance(handle, bytes) and handle
    assert event.device.index == 1
    assert event.query()
    event.synchronize()
    assert event.ipc_handle() == handle


def test_an_event_whose_handle_could_not_be_made_is_as_before(real_ipc, two_devices, run_python):
    run_python(
        """
        import torch, torch_acme
        event = torch.acme.Event(interprocess=True)
        for device, fails in ((1, True), (0, False)):
            with torch.acme.device(device):
                try:
                    event.ipc_handle()
                except torch.AcceleratorError:
                    assert fails
        assert event.device.index == 0, event.device
        """,
        OUTBACK_FAULTS="ipc.get_event:1=internal",
    )


@pytest.mark.parametrize("handle", [b"", b"x" * 4096])
def test_a_handle_of_an_impossible_size_is_refused(handle):
    with pytest.raises(ValueError, match="expected what ipc_handle"):
        Event.from_ipc_handle("acme:0", handle)


@pytest.mark.parametrize("handle", ["text", 1, None])
def test_a_handle_is_bytes(handle):
    with pytest.raises(TypeError):
        Event.from_ipc_handle("acme:0", handle)


def test_a_handle_that_nobody_made_is_refused(real_ipc):
    with pytest.raises(RuntimeError, match=r"ipc\.open_event"):
        Event.from_ipc_handle(torch.device("acme", 0), b"no such event")


def test_another_process_waits_for_what_this_one_recorded(real_ipc, run_python):
    event = Event(interprocess=True)
    event.record()
    handle = event.ipc_handle().hex()
    other = run_python(
        f"""
        import torch, torch_acme
        event = torch.acme.Event.from_ipc_handle("acme:0", bytes.fromhex("{handle}"))
        assert type(event) is torch.acme.Event and event.device == torch.device("acme:0")
        event.synchronize()
        torch.acme.current_stream().wait_event(event)
        event.wait()
        assert event.query()
        event.record()  # seen by the process that made it
        event.synchronize()
        print(event.query())
        """
    )
    assert other.output == "True"
    event.synchronize()
    assert event.query()


# Makes an event, tells its handle, and holds it until a line comes in.
MAKER = """
import sys
import torch, torch_acme
event = torch.acme.Event(interprocess=True)
event.record()
print(event.ipc_handle().hex(), flush=True)
sys.stdin.readline()
del event
print("gone", flush=True)
sys.stdin.readline()
"""


def test_an_event_is_found_as_long_as_who_made_it_has_it(real_ipc):
    command = [sys.executable, "-c", MAKER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as maker:
        handle = bytes.fromhex(maker.stdout.readline())
        opened = Event.from_ipc_handle("acme:0", handle)
        opened.synchronize()
        maker.stdin.write("\n")
        maker.stdin.flush()
        assert maker.stdout.readline() == "gone\n"
        assert opened.query()
        opened.record()  # it outlives the other end
        opened.synchronize()
        with pytest.raises((ValueError, RuntimeError), match=f"process {maker.pid}|open_event"):
            Event.from_ipc_handle("acme:0", handle)
        maker.communicate("\n")
    assert maker.returncode == 0
    with pytest.raises((ValueError, RuntimeError), match=f"process {maker.pid}|open_event"):
        Event.from_ipc_handle("acme:0", handle)
