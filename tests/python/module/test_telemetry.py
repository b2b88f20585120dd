"""Sensors and processes, in torch.cuda's units."""

import os

import pytest
import torch

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

SENSORS = [
    "utilization",
    "memory_usage",
    "temperature",
    "power_draw",
    "clock_rate",
    "device_memory_used",
]
PLAUSIBLE = {
    "utilization": range(101),
    "memory_usage": range(101),
    "temperature": range(-50, 200),  # degrees Celsius
    "power_draw": range(5_000_000),  # milliwatts
    "clock_rate": range(1, 20_000),  # megahertz
}


def has_telemetry() -> bool:
    try:
        torch.acme.device_memory_used()
    except NotImplementedError as error:
        return "telemetry" not in str(error)
    return True


@pytest.mark.parametrize("name", SENSORS)
def test_a_sensor_answers_or_is_not_there(name):
    read = getattr(torch.acme, name)
    try:
        value = read()
    except NotImplementedError as error:
        assert "telemetry" in str(error)
        return
    assert type(value) is int
    if name in PLAUSIBLE:
        assert value in PLAUSIBLE[name]
    assert type(read(0)) is type(read("acme:0")) is type(read(torch.device("acme", 0))) is int


@pytest.mark.parametrize("name", [*SENSORS, "list_gpu_processes"])
def test_a_device_that_is_not_there_is_refused(name):
    with pytest.raises(torch.AcceleratorError):
        getattr(torch.acme, name)(99)


def test_memory_in_use_is_counted():
    if not has_telemetry():
        pytest.skip("this runtime has no telemetry")
    kept = torch.empty(32 << 20, dtype=torch.uint8, device="acme")
    assert torch.acme.device_memory_used() >= kept.nbytes


def test_processes_are_told_as_torch_cuda_tells_them():
    kept = torch.empty(1 << 20, dtype=torch.uint8, device="acme")
    try:
        lines = torch.acme.list_gpu_processes(0).splitlines()
    except NotImplementedError as error:
        assert "telemetry" in str(error)
        return
    assert lines[0] == "GPU:0"
    for line in lines[1:]:
        assert line == "no processes are running" or line.endswith("GPU memory")
        assert "process " in line
    own = f"process {os.getpid():>10d} uses "
    if any(line.startswith(own) for line in lines):  # a driver may see other numbers
        assert kept.is_acme


def test_ipc_collect_has_nothing_to_collect_or_says_what_is_missing():
    try:
        assert torch.acme.ipc_collect() is None
    except NotImplementedError as error:
        assert "no group ipc" in str(error)


def test_peers(two_devices):
    try:
        assert torch.acme.can_device_access_peer(0, 0) is False
    except NotImplementedError as error:
        assert "no group peer" in str(error)
        return
    assert type(torch.acme.can_device_access_peer(0, 1)) is bool
    assert torch.acme.can_device_access_peer("acme:0", torch.device("acme", 1)) in (True, False)
    for devices in [(0, 99), (99, 0)]:
        with pytest.raises(torch.AcceleratorError):
            torch.acme.can_device_access_peer(*devices)
