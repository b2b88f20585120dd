"""What the tests of graphs share."""

import pytest
import torch


@pytest.fixture
def records(captures) -> None:
    """Operators that CPU kernels serve are recorded."""
    x = torch.ones(2, device="acme")
    try:
        with torch.acme.graph(torch.acme.CUDAGraph()):
            x + x
    except RuntimeError:
        pytest.skip("this runtime has no kernels, and its memory is out of the CPU's reach")
