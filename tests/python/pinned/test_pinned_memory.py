"""Pinned host memory: what its allocator counts, and two of its users."""

import gc

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]


@pytest.fixture
def real_pinning() -> None:
    if not torch.empty(8, pin_memory=True).is_pinned():
        pytest.skip("this runtime has no group host_memory")


def test_a_data_loader_takes_the_device_to_pin_for(real_pinning, recwarn):
    data = TensorDataset(torch.arange(12.0))
    for (batch,) in DataLoader(data, 4, pin_memory=True, pin_memory_device="acme", num_workers=1):
        assert batch.is_pinned()


def test_saving_and_loading_what_is_pinned(real_pinning, tmp_path):
    torch.save(torch.arange(5).pin_memory(), tmp_path / "file")
    assert torch.equal(torch.load(tmp_path / "file"), torch.arange(5))


# ---- the allocator


COUNTERS = ("allocations", "allocated_bytes", "active_requests", "active_bytes")
KINDS = ("current", "peak", "allocated", "freed")
TIMES = ("total", "max", "min", "count", "avg")


def test_the_counters_have_torch_cudas_names():
    torch.acme.init()
    expected = {f"{counter}.{kind}" for counter in COUNTERS for kind in KINDS}
    expected |= {
        f"{timer}.{kind}" for timer in ("host_alloc_time", "host_free_time") for kind in TIMES
    }
    expected |= {"num_host_alloc", "num_host_free"}
    flat = torch.acme.host_memory_stats()
    assert set(flat) == expected and list(flat) == sorted(flat)
    nested = torch.acme.host_memory_stats_as_nested_dict()
    assert set(nested["active_bytes"]) == set(KINDS)
    assert set(nested["host_alloc_time"]) == set(TIMES)


@pytest.mark.skipif(
    torch.__version__ < "2.13",
    reason="what comes back is not taken off torch's counters before 2.13",
)
def test_the_counters_count():
    before = torch.acme.host_memory_stats()
    tensor = torch.empty(1 << 20, dtype=torch.uint8, pin_memory=True)
    during = torch.acme.host_memory_stats()
    assert during["active_requests.current"] == before["active_requests.current"] + 1
    assert during["active_bytes.current"] == before["active_bytes.current"] + (1 << 20)
    assert during["active_bytes.peak"] >= during["active_bytes.current"]
    del tensor
    gc.collect()
    after = torch.acme.host_memory_stats()
    assert after["active_bytes.current"] == before["active_bytes.current"]
    assert after["active_bytes.freed"] == before["active_bytes.freed"] + (1 << 20)
    assert after["allocated_bytes.current"] >= 1 << 20, "the block is not cached"


def test_peaks_and_totals_are_reset():
    kept = torch.empty(1 << 20, dtype=torch.uint8, pin_memory=True)
    del kept
    torch.acme.reset_peak_host_memory_stats()
    stats = torch.acme.host_memory_stats_as_nested_dict()
    assert stats["active_bytes"]["peak"] == stats["active_bytes"]["current"]
    torch.acme.reset_accumulated_host_memory_stats()
    stats = torch.acme.host_memory_stats_as_nested_dict()
    assert stats["active_bytes"]["allocated"] == stats["active_bytes"]["freed"] == 0


@pytest.mark.skipif(
    not hasattr(torch.accelerator, "empty_host_cache"), reason="comes with torch 2.12"
)
def test_the_cache_is_given_back():
    torch.empty(1 << 20, dtype=torch.uint8, pin_memory=True)
    gc.collect()
    torch.accelerator.empty_host_cache()
    stats = torch.acme.host_memory_stats_as_nested_dict()
    assert stats["allocated_bytes"]["current"] == stats["active_bytes"]["current"]


def test_asking_starts_nothing(run_python):
    run = run_python(
        """
        import torch, torch_acme
        assert torch.acme.host_memory_stats() == {}
        assert torch.acme.host_memory_stats_as_nested_dict() == {}
        torch.acme.reset_peak_host_memory_stats()
        torch.acme.reset_accumulated_host_memory_stats()
        assert not torch.ones(3).is_pinned()
        assert not torch.acme.is_initialized()
        """
    )
    assert run.code == 0
