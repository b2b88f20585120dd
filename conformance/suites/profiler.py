"""The profiler: operators, device time and memory by their names."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from ..apart import need_device
from ..backend import Backend
from ..check import Unsupported, check


def work(backend: Backend) -> torch.Tensor:
    """So much that each operator takes a microsecond and more, which PyTorch counts in."""
    x = torch.randn(512, 512, device=backend.device)
    for _ in range(3):
        x = torch.relu(x[:, :8] @ x[:8]).clone()
    return x


def activities() -> list[ProfilerActivity]:
    return [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


@check(
    called_by="torch/profiler/profiler.py: supported_activities",
    without="the device cannot be asked for",
)
def the_device_is_an_activity(backend: Backend) -> None:
    """ProfilerActivity.PrivateUse1 is among torch.profiler.supported_activities()."""
    need_device(backend)
    assert ProfilerActivity.PrivateUse1 in torch.profiler.supported_activities()


@check(
    called_by="torch/profiler/profiler.py: profile",
    without="profiling a program stops it",
)
def operators_are_counted(backend: Backend) -> None:
    """A profile with the device's activity counts each operator once a call, by its name, or twice
    where the CPU's computes for it, and the program computes what it computes without."""
    x = torch.randn(8, 8, device=backend.device)
    expected = (x @ x).cpu()
    for asked in (activities(), activities()[:1]):
        with profile(activities=asked, record_shapes=True) as it:
            work(backend)
            y = x @ x
        counts = {event.key: event.count for event in it.key_averages()}
        for name, calls in (("aten::mm", 4), ("aten::relu", 3)):
            assert counts.get(name) in (calls, 2 * calls), f"{name}: {counts.get(name)} of {calls}"
        torch.testing.assert_close(y.cpu(), expected)


@check(
    called_by="torch/profiler/profiler.py: export_chrome_trace",
    without="traces cannot be looked at",
)
def a_trace_is_exported(backend: Backend) -> None:
    """The exported trace is JSON that has the operators and the program's own ranges."""
    with profile(activities=activities()) as it, record_function("conformance: mine"):
        work(backend)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        it.export_chrome_trace(str(path))
        names = {event.get("name") for event in json.loads(path.read_text())["traceEvents"]}
    assert {"aten::mm", "aten::relu", "conformance: mine"} <= names


@check(
    called_by="torch/profiler/profiler.py: schedule",
    without="long runs cannot be profiled in part",
)
def a_schedule_runs(backend: Backend) -> None:
    """A profile with a schedule hands over the steps that it was asked for."""
    seen: list[set[str]] = []
    with profile(
        activities=activities(),
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=1),
        on_trace_ready=lambda it: seen.append({event.key for event in it.key_averages()}),
    ) as it:
        for _ in range(3):
            work(backend)
            it.step()
    assert len(seen) == 1 and "aten::mm" in seen[0]


@check(
    called_by="torch/autograd/profiler.py: profile",
    without="nobody sees what an operator takes on the device",
)
def operators_have_their_time_on_the_device(backend: Backend) -> None:
    """torch.autograd.profiler.profile(use_device=<name>) measures a device time of each operator
    that ran there."""
    need_device(backend)
    with torch.autograd.profiler.profile(use_device=backend.name, use_kineto=False) as it:
        work(backend)
        torch.accelerator.synchronize(backend.device)
    by_name = {event.key: event for event in it.key_averages()}
    assert {"aten::mm", "aten::relu", "aten::clone"} <= set(by_name)
    timed = [
        n for n in ("aten::mm", "aten::relu", "aten::clone") if by_name[n].device_time_total > 0
    ]
    if not timed:
        raise Unsupported("no operator has a device time: there are no profiler stubs")
    assert len(timed) == 3, f"only {', '.join(timed)} have a device time"
    assert f"Self {backend.name.upper()}" in it.key_averages().table()


@check(
    called_by="torch/include/c10/core/Allocator.h: reportMemoryUsageToProfiler",
    without="profile_memory shows nothing of the device",
)
def memory_is_reported(backend: Backend) -> None:
    """With profile_memory=True, what an operator allocates on the device is in its events."""
    with profile(activities=activities(), profile_memory=True) as it:
        x = torch.empty(1 << 20, device=backend.device)
        del x
    by_name = {event.key: event for event in it.key_averages()}
    usage = by_name["aten::empty"].self_device_memory_usage
    if usage == 0:
        raise Unsupported("the allocator reports nothing to the profiler")
    assert usage == 4 << 20, f"{usage} bytes, of 4 MiB"


@check(
    called_by="torch/autograd/profiler_util.py: FunctionEvent",
    without="the timeline does not show what the device did when",
)
def work_of_the_device_is_in_the_timeline(backend: Backend) -> None:
    """torch.profiler's events include work of the device, with its device type and a time."""
    need_device(backend)
    with profile(activities=activities()) as it:
        work(backend)
        torch.accelerator.synchronize(backend.device)
    kind = torch.autograd.DeviceType.PrivateUse1
    found = [event for event in it.events() if event.device_type == kind]
    if not found:
        raise Unsupported("no events of the device: there is no plug-in for Kineto")
    assert any(event.time_range.elapsed_us() > 0 for event in found), "no event has a length"
    assert all(event.name for event in found), "an event has no name"


@check(
    called_by="torch/autograd/profiler.py: record_function",
    without="ranges of a program cannot be told apart",
)
def ranges_have_names(backend: Backend) -> None:
    """A record_function around work of the device is in the profile, once, with the work in it."""
    with profile(activities=activities()) as it, record_function("conformance: outer"):
        work(backend)
    found = [event for event in it.events() if event.name == "conformance: outer"]
    hosts = [event for event in found if event.device_type == torch.autograd.DeviceType.CPU]
    assert len(hosts) == 1, f"{len(hosts)} ranges"
    assert any(child.name == "aten::matmul" for child in hosts[0].cpu_children)


@check(
    called_by="torch/autograd/profiler.py: profile",
    without="a program that was profiled once behaves differently",
)
def a_profile_leaves_nothing_behind(backend: Backend) -> None:
    """After profiles, one of them with an error in it, the device computes and another profile
    works."""
    for _ in range(2):
        try:
            with profile(activities=activities()):
                work(backend)
                raise KeyError("mine")
        except KeyError:
            assert torch.ones(3, device=backend.device).add(1).tolist() == [2, 2, 2]
        else:
            raise AssertionError("the error was swallowed")
    with profile(activities=activities()) as it:
        work(backend)
    assert any(event.key == "aten::mm" for event in it.key_averages())
