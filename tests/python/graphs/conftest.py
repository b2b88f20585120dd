"""What the tests of graphs share."""

import pytest
import torch


@pytest.fixture
def captures() -> None:
    """The runtime can capture, whatever runs its operators."""
    if torch.acme.Stream().stream_id == 0:
        pytest.skip("this runtime has no streams, so no graphs")
    graph = torch.acme.CUDAGraph()
    try:
        with torch.acme.stream(torch.acme.Stream()):
            graph.capture_begin()
            graph.capture_end()
    except NotImplementedError:
        pytest.skip("this runtime has no graphs")


@pytest.fixture
def records(captures) -> None:
    """Operators that CPU kernels serve are recorded."""
    x = torch.ones(2, device="acme")
    try:
        with torch.acme.graph(torch.acme.CUDAGraph()):
            x + x
    except RuntimeError:
        pytest.skip("this runtime has no kernels, and its memory is out of the CPU's reach")
