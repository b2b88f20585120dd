"""torch.profiler on the device."""

import json

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

pytestmark = pytest.mark.turns_on_groups

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


def work(device="acme"):
    """So much that each operator takes a microsecond and more, which PyTorch counts in."""
    x = torch.randn(512, 512, device=device)
    for _ in range(3):
        x = torch.relu(x[:, :8] @ x[:8]).clone()
    return x


def test_the_device_is_an_activity():
    assert ProfilerActivity.PrivateUse1 in torch.profiler.supported_activities()


@pytest.mark.parametrize("activities", [BOTH, BOTH[:1]], ids=["both", "cpu"])
def test_operators_are_counted(activities, tmp_path):
    with profile(activities=activities, record_shapes=True) as it:
        work()
    counts = {e.key: e.count for e in it.key_averages()}
    assert counts["aten::mm"] == 3 and counts["aten::relu"] == 3
    path = tmp_path / "trace.json"
    it.export_chrome_trace(str(path))
    names = {e.get("name") for e in json.loads(path.read_text())["traceEvents"]}
    assert {"aten::mm", "aten::relu"} <= names


def test_a_schedule_runs():
    seen = []
    with profile(
        activities=BOTH,
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=1),
        on_trace_ready=lambda it: seen.append({e.key for e in it.key_averages()}),
    ) as it:
        for _ in range(3):
            work()
            it.step()
    assert len(seen) == 1 and "aten::mm" in seen[0]


def timed(**options):
    with torch.autograd.profiler.profile(use_device="acme", use_kineto=False, **options) as it:
        work()
        torch.acme.synchronize()
    return it


def test_operators_have_their_time_on_the_device():
    it = timed()
    by_name = {e.key: e for e in it.key_averages()}
    for name in ("aten::mm", "aten::relu", "aten::clone"):
        assert by_name[name].device_time_total > 0, name
    assert by_name["aten::mm"].self_device_time_total <= by_name["aten::mm"].device_time_total
    assert "Self ACME" in it.key_averages().table(sort_by="self_device_time_total")


def test_a_copy_on_a_stream_takes_its_time_there(real_streams):
    stream = torch.acme.Stream()
    with torch.autograd.profiler.profile(use_device="acme", use_kineto=False) as it:
        with torch.acme.stream(stream):
            x = torch.ones(1 << 20, device="acme")
            y = x.clone()
        stream.synchronize()
    assert y.sum().item() == 1 << 20
    assert next(e for e in it.key_averages() if e.key == "aten::clone").device_time_total > 0


def test_ranges_have_names():
    with torch.autograd.profiler.profile(use_device="acme", use_kineto=False) as it:
        with torch.profiler.record_function("mine"):
            work()
    assert any(e.key == "mine" for e in it.key_averages())


def test_memory_is_reported():
    with profile(activities=BOTH, profile_memory=True, record_shapes=True) as it:
        x = torch.empty(1 << 20, device="acme")
        del x
    by_name = {e.key: e for e in it.key_averages()}
    assert by_name["aten::empty"].self_device_memory_usage == 4 << 20
    freed = [e for e in it.events() if e.name == "[memory]"]
    assert sum(e.device_memory_usage for e in freed) == -(4 << 20)


def test_the_memory_curve_is_drawn(tmp_path):
    with profile(activities=BOTH, profile_memory=True, record_shapes=True, with_stack=True) as it:
        module = torch.nn.Linear(64, 64).acme()
        module(torch.ones(8, 64, device="acme")).sum().backward()
    path = tmp_path / "memory.json"
    it.export_memory_timeline(str(path), device="acme:0")
    times, sizes = json.loads(path.read_text())
    assert len(times) == len(sizes) > 0
    assert max(sum(row) for row in sizes) >= 64 * 64 * 4


def test_a_profiler_leaves_the_process_as_it_was():
    for _ in range(2):
        timed()
    assert torch.equal(torch.ones(3, device="acme").cpu(), torch.ones(3))
