"""torch.profiler on the device."""

import json

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

pytestmark = pytest.mark.turns_on_groups

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


def test_a_copy_on_a_stream_takes_its_time_there(real_streams):
    stream = torch.acme.Stream()
    with torch.autograd.profiler.profile(use_device="acme", use_kineto=False) as it:
        with torch.acme.stream(stream):
            x = torch.ones(1 << 20, device="acme")
            y = x.clone()
        stream.synchronize()
    assert y.sum().item() == 1 << 20
    assert next(e for e in it.key_averages() if e.key == "aten::clone").device_time_total > 0


def test_the_memory_curve_is_drawn(tmp_path):
    with profile(activities=BOTH, profile_memory=True, record_shapes=True, with_stack=True) as it:
        module = torch.nn.Linear(64, 64).acme()
        module(torch.ones(8, 64, device="acme")).sum().backward()
    path = tmp_path / "memory.json"
    it.export_memory_timeline(str(path), device="acme:0")
    times, sizes = json.loads(path.read_text())
    assert len(times) == len(sizes) > 0
    assert max(sum(row) for row in sizes) >= 64 * 64 * 4
