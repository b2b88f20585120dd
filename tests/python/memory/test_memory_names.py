"""torch.acme.memory has torch.cuda.memory's names, with its signatures' meaning."""

import sys
import warnings

import pytest
import torch

pytestmark = pytest.mark.any_runtime

NAMES = sorted(set(torch.cuda.memory.__all__) - {"CUDAPluggableAllocator"})
PRIVATE = [
    "_allocation_traceback",
    "_dump_snapshot",
    "_get_memory_metadata",
    "_record_memory_history",
    "_save_memory_usage",
    "_save_segment_usage",
    "_set_memory_metadata",
    "_snapshot",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_in_both_modules(name):
    assert getattr(torch.acme, name) is getattr(torch.acme.memory, name)
    assert name in torch.acme.__all__
    assert name in torch.acme.memory.__all__
    assert getattr(torch.acme, name).__doc__


@pytest.mark.parametrize("name", PRIVATE)
def test_a_private_name_is_in_memory_alone(name):
    assert hasattr(torch.acme.memory, name)
    assert not hasattr(torch.acme, name)


def test_memory_is_a_module_that_can_be_imported():
    import torch.acme.memory as imported

    assert imported is torch.acme.memory is sys.modules["torch.acme.memory"]
    assert imported.__name__ == "torch.acme.memory"
    assert imported.MemPool.__module__ == "torch.acme"


@pytest.mark.parametrize(
    ("name", "now"),
    [("memory_cached", "memory_reserved"), ("max_memory_cached", "max_memory_reserved")],
)
def test_old_names_warn_and_answer(name, now):
    x = torch.empty(1000, device="acme")
    message = rf"`torch\.acme\.{name}` has been renamed to `torch\.acme\.{now}`"
    with pytest.warns(FutureWarning, match=message):
        assert getattr(torch.acme, name)() == getattr(torch.acme, now)() > 0
    del x


@pytest.mark.parametrize("name", ["reset_max_memory_allocated", "reset_max_memory_cached"])
def test_old_resets_warn_and_reset_all_peaks(name):
    torch.empty(1000, device="acme")
    torch.acme.empty_cache()
    assert torch.acme.max_memory_allocated() > 0
    with pytest.warns(FutureWarning, match=rf"torch\.acme\.{name} now calls"):
        getattr(torch.acme, name)()
    assert torch.acme.max_memory_allocated() == torch.acme.memory_allocated()
    assert torch.acme.max_memory_reserved() == torch.acme.memory_reserved()


def test_a_warning_that_is_an_error_stops_the_call():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FutureWarning):
            torch.acme.memory_cached()


def test_asking_before_the_start_starts_nothing(run_python):
    run_python(
        """
        import torch, torch_acme
        assert torch.acme.memory_stats() == {}
        assert torch.acme.memory_stats_as_nested_dict() == {}
        assert torch.acme.memory_allocated() == torch.acme.max_memory_reserved() == 0
        assert "OOMs: 0" in torch.acme.memory_summary()
        assert torch.acme.memory_snapshot() == []
        snapshot = torch.acme.memory._snapshot()
        assert snapshot["device_traces"] == [[] for _ in range(torch.acme.device_count())]
        torch.acme.memory._record_memory_history()
        torch.acme.empty_cache()
        assert not torch.acme.is_initialized()
        """
    )


@pytest.mark.parametrize(
    "call",
    [
        torch.acme.memory_stats_as_nested_dict,
        torch.acme.memory_summary,
        torch.acme.get_per_process_memory_fraction,
        lambda device: torch.acme.set_per_process_memory_fraction(0.5, device),
        lambda device: torch.acme.caching_allocator_alloc(64, device),
        lambda device: torch.acme.use_mem_pool(torch.acme.MemPool(), device),
    ],
)
def test_what_is_no_device_is_refused(call):
    for device, error in [(99, torch.AcceleratorError), ("cuda:0", ValueError), (1.5, TypeError)]:
        with pytest.raises(error):
            call(device)


def test_changing_the_allocator_is_refused():
    with pytest.raises(NotImplementedError, match="mem_alloc and mem_free"):
        torch.acme.change_current_allocator(object())
    with pytest.raises(NotImplementedError, match="mem_alloc"):
        torch.acme.MemPool(allocator=object())
    assert torch.acme.get_allocator_backend() == "native"
