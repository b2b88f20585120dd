"""What the tests of the device's memory share."""

import gc
from pathlib import Path

import pytest
import torch

memory = torch.acme.memory


def pytest_collection_modifyitems(items):
    """First of all: torch keeps tensors of other tests, a script's constants for one, to the end of
    the process, and what is compared here is the whole of the device's memory.
    """
    items.sort(key=lambda item: not item.path.is_relative_to(Path(__file__).parent))


@pytest.fixture(autouse=True)
def quiet_memory():
    """Every test starts with an empty cache and counters at zero, and leaves nothing recorded."""
    gc.collect()
    torch.acme.init()
    torch.acme.empty_cache()
    for device in range(torch.acme.device_count()):
        torch.acme.reset_accumulated_memory_stats(device)
        torch.acme.reset_peak_memory_stats(device)
    yield
    memory._record_memory_history(None, clear_history=True)
    memory._set_memory_metadata("")
    memory.caching_allocator_enable(True)
    for device in range(torch.acme.device_count()):
        torch.acme.set_per_process_memory_fraction(1.0, device)
