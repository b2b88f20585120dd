"""Programs on the device, and on the one whose kernels compute in its memory, compared bit for bit:
acme beside cuda on a GPU.

./dev gpu --only in-place runs them there. They have what no stand-in for CUDA can start or decide:
cuDNN, cuFFT, cuSOLVER, and what reads a kernel's result on the host. On the host runtime they show
that the programs themselves are right. There a few calls choose an algorithm by the device's name,
so that values are close and not equal, and random numbers are the device's own.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch_acme  # noqa: F401
from torch.utils._pytree import tree_leaves


@pytest.fixture(scope="session")
def device() -> torch.device:
    if torch.acme.device_count() == 0:
        pytest.skip("needs a device that the runtime finds")
    return torch.device("acme", 0)


@pytest.fixture(scope="session")
def other(device: torch.device) -> torch.device:
    """The device whose kernels these are."""
    kernels = torch.acme.get_device_properties(device).kernels
    if kernels is None:
        pytest.skip("needs a device whose memory kernels of PyTorch's own reach")
    return torch.device(kernels)


@pytest.fixture(autouse=True)
def _draws(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("draws") and request.getfixturevalue("other").type == "cpu":
        pytest.skip("needs a device whose random numbers are the other's: one with CUDA's kernels")


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    """No choice that a clock or another thread makes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.backends.cudnn.flags(benchmark=False, deterministic=True):
        yield
    torch.set_num_threads(before)


@pytest.fixture
def same(device: torch.device, other: torch.device) -> Callable[..., None]:
    """Calls `program` with either device after the same seed, and compares the tensors that it
    returns."""

    def compare(program: Callable[[torch.device], Any]) -> None:
        results = []
        for each in (device, other):
            torch.manual_seed(0)
            leaves = tree_leaves(program(each))
            assert all(leaf.device == each for leaf in leaves)
            results.append([leaf.detach().cpu() for leaf in leaves])
        assert len(results[0]) == len(results[1]) > 0
        exactly = {} if other.type == "cpu" else {"rtol": 0, "atol": 0}
        for here, there in zip(*results, strict=True):
            torch.testing.assert_close(here, there, equal_nan=True, **exactly)

    return compare


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "draws: random numbers on the device")
