"""Pinned host memory: who makes it, who recognises it, and what its allocator counts."""

import gc

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

pytestmark = [pytest.mark.turns_on_memory, pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]


@pytest.fixture
def real_pinning() -> None:
    if not torch.empty(8, pin_memory=True).is_pinned():
        pytest.skip("this runtime has no group host_memory")


storages_ask_the_accelerator = pytest.mark.skipif(
    torch.__version__ < "2.13", reason="storages ask CUDA for the memory before torch 2.13"
)
every_way = pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(64, pin_memory=True),
        lambda: torch.zeros(64, pin_memory=True),
        lambda: torch.tensor([1.0, 2.0], pin_memory=True),
        lambda: torch.ones(64).new_empty(64, pin_memory=True),
        lambda: torch.empty_like(torch.ones(64), pin_memory=True),
        lambda: torch.ones(64).pin_memory(),
        lambda: torch.empty_strided((4, 4), (1, 4), pin_memory=True),
        lambda: torch.arange(64, pin_memory=True),
    ],
)


@every_way
def test_what_makes_pinned_memory(real_pinning, make):
    tensor = make()
    assert tensor.is_pinned() and tensor.device.type == "cpu"


@storages_ask_the_accelerator
@every_way
def test_its_storage_is_pinned(real_pinning, make):
    assert make().untyped_storage().is_pinned()


def test_pageable_memory_is_not_pinned():
    tensor = torch.ones(64)
    assert not tensor.is_pinned()
    assert not torch.ones(4, device="acme").is_pinned()


def test_views_and_their_interiors_are_pinned(real_pinning):
    tensor = torch.ones(64, 64).pin_memory()
    for view in (tensor[1:], tensor[10:, 10:], tensor.T, tensor[::2, 5], tensor.view(-1)[4095:]):
        assert view.is_pinned()
    assert tensor.pin_memory() is tensor


def test_what_was_pinned_keeps_its_values(real_pinning):
    tensor = torch.arange(100).reshape(10, 10)
    assert torch.equal(tensor.pin_memory(), tensor)
    assert torch.equal(tensor.T.pin_memory(), tensor.T)
    assert torch.equal(tensor.pin_memory().acme().cpu(), tensor)


def test_memory_of_the_device_cannot_be_pinned():
    with pytest.raises(RuntimeError, match=r"(?i)only dense CPU tensors can be pinned|cannot pin"):
        torch.ones(4, device="acme").pin_memory()
    with pytest.raises(RuntimeError, match=r"(?i)pin"):
        torch.empty(4, device="acme", pin_memory=True)


@storages_ask_the_accelerator
def test_pinned_storages(real_pinning):
    storage = torch.ones(8).untyped_storage()
    assert not storage.is_pinned()
    assert storage.pin_memory().is_pinned()


def test_empty_tensors_can_be_pinned():
    assert torch.empty(0, pin_memory=True).shape == (0,)
    assert torch.empty(0).pin_memory().shape == (0,)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_pins_its_batches(real_pinning, workers):
    data = TensorDataset(torch.arange(24.0).reshape(12, 2), torch.arange(12))
    loader = DataLoader(data, batch_size=4, pin_memory=True, num_workers=workers)
    seen = []
    for features, labels in loader:
        assert features.is_pinned() and labels.is_pinned()
        on_device = features.to("acme", non_blocking=True)
        seen.append(on_device.cpu())
    assert torch.equal(torch.cat(seen), torch.arange(24.0).reshape(12, 2))


def test_a_data_loader_takes_the_device_to_pin_for(real_pinning, recwarn):
    data = TensorDataset(torch.arange(12.0))
    for (batch,) in DataLoader(data, 4, pin_memory=True, pin_memory_device="acme", num_workers=1):
        assert batch.is_pinned()


def test_the_pin_thread_uses_the_callers_device(two_devices, real_pinning):
    torch.acme.set_device(1)
    data = TensorDataset(torch.arange(12.0))
    for (batch,) in DataLoader(data, 4, pin_memory=True, num_workers=1):
        assert batch.is_pinned()
        assert batch.acme().device.index == 1


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
