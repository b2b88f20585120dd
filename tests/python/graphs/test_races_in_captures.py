"""The race finder leaves captures alone: what is captured has not run."""

import pytest
import torch

pytestmark = pytest.mark.any_runtime


def test_a_capture_is_no_race(records):
    x = torch.ones(4, device="acme")
    graph = torch.acme.CUDAGraph()
    torch.acme._sanitizer.disable()  # the variable may have begun before
    torch.acme._sanitizer.enable()
    try:
        with torch.acme.graph(graph):  # on a stream of its own
            x.add_(1)
        graph.replay()
        torch.acme.synchronize()
        assert x.tolist() == [2, 2, 2, 2]
    finally:
        torch.acme._sanitizer.disable()
