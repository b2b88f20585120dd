"""Every name of torch.accelerator works on the device."""

import pytest
import torch

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]

accelerator = torch.accelerator


# What each must answer, on one device of this backend.
CALLS = {
    "Graph": lambda: isinstance(accelerator.Graph(), torch._C._acceleratorGraph),
    "current_accelerator": lambda: accelerator.current_accelerator() == torch.device("acme"),
    "current_device_idx": lambda: accelerator.current_device_idx() == 0,
    "current_device_index": lambda: accelerator.current_device_index() == 0,
    "get_device_capability": lambda: torch.float32
    in accelerator.get_device_capability("acme:0")["supported_dtypes"],
    "current_stream": lambda: accelerator.current_stream("acme:0") == torch.acme.current_stream(),
    "device_count": lambda: accelerator.device_count() == torch.acme.device_count(),
    "device_index": lambda: accelerator.device_index(0).__enter__() is None,
    "empty_cache": lambda: accelerator.empty_cache() is None,
    "empty_host_cache": lambda: accelerator.empty_host_cache() is None,
    "is_available": accelerator.is_available,
    "get_memory_info": lambda: accelerator.get_memory_info("acme:0") == torch.acme.mem_get_info(0)
    or torch.acme.get_device_properties(0).total_memory >= accelerator.get_memory_info(0)[0] > 0,
    "max_memory_allocated": lambda: accelerator.max_memory_allocated()
    == torch.acme.max_memory_allocated(),
    "max_memory_reserved": lambda: accelerator.max_memory_reserved()
    == torch.acme.max_memory_reserved(),
    "memory_allocated": lambda: accelerator.memory_allocated() == torch.acme.memory_allocated(),
    "memory_reserved": lambda: accelerator.memory_reserved() == torch.acme.memory_reserved(),
    "memory_stats": lambda: "allocated_bytes.all.current" in accelerator.memory_stats(0),
    "reset_accumulated_memory_stats": lambda: accelerator.reset_accumulated_memory_stats() is None,
    "reset_peak_memory_stats": lambda: accelerator.reset_peak_memory_stats() is None,
    "set_device_idx": lambda: accelerator.set_device_idx(0) is None,
    "set_device_index": lambda: accelerator.set_device_index(0) is None,
    "set_stream": lambda: accelerator.set_stream(torch.acme.default_stream()) is None,
    "synchronize": lambda: accelerator.synchronize("acme:0") is None,
}


@pytest.mark.filterwarnings("ignore:Use `(current|set)_device_index")
@pytest.mark.parametrize("name", accelerator.__all__)
def test_the_name_works(name):
    assert name in CALLS, "torch.accelerator has a name that this test does not know"
    torch.ones(1, device="acme")
    assert CALLS[name]()


def test_the_context_and_the_functions_agree(two_devices):
    with accelerator.device_index(1):
        assert torch.acme.current_device() == 1
        accelerator.set_device_index(0)
    assert torch.acme.current_device() == 0
