"""Portable kernels are kernels like any other: in captures, in a profile and in the report."""

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

pytestmark = pytest.mark.turns_on_kernels


def test_a_capture_replays_them(on_device, captures):
    x, w = torch.randn(8, 8).acme(), torch.randn(8, 8).acme()
    torch.acme.synchronize()
    graph = torch.acme.CUDAGraph()
    with torch.acme.graph(graph):
        y = torch.softmax(x @ w, -1).sum(0) + 1
    x.fill_(2)
    graph.replay()
    want = torch.softmax(torch.full((8, 8), 2.0) @ w.cpu(), -1).sum(0) + 1
    torch.testing.assert_close(y.cpu(), want)


def test_a_profile_names_them(on_device):
    x = torch.ones(64, device="acme")
    torch.acme.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as made:
        (x + x).exp().sum()
        torch.acme.synchronize()
    on_host = torch.autograd.DeviceType.CPU
    names = [each.name for each in made.events() if each.device_type != on_host]
    assert [name for name in names if name.endswith("_f32")] == ["add_f32", "exp_f32", "sum_f32"]


def test_the_report_names_who_served(on_device):
    x = torch.ones(64, device="acme")
    complex_numbers = torch.ones(3, dtype=torch.complex64, device="acme")
    torch.acme.set_fallback_mode("allow")
    with torch.acme.record_operators() as record:
        x + x
        complex_numbers + complex_numbers
    rows = {
        (each.dtype, each.served) for each in record.operators if each.name == "aten::add.Tensor"
    }
    assert rows == {("float32", "portable"), ("complex64", "over copies")}
