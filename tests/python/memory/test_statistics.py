"""What the allocator counts, under torch.cuda's keys and with its meaning."""

import itertools

import pytest
import torch

pytestmark = pytest.mark.turns_on_groups

MEBIBYTE = 1 << 20
ARRAYS = [
    "active",
    "active_bytes",
    "allocated_bytes",
    "allocation",
    "inactive_split",
    "inactive_split_bytes",
    "requested_bytes",
    "reserved_bytes",
    "segment",
]
COUNTS = [
    "max_split_size",
    "num_alloc_retries",
    "num_device_alloc",
    "num_device_free",
    "num_ooms",
    "num_sync_all_streams",
]
VALUES = ["allocated", "current", "freed", "peak"]


def stats():
    return torch.acme.memory_stats()


def test_the_keys_are_those_of_torch_cuda():
    torch.empty(8, device="acme")
    expected = set(COUNTS)
    pools = ["all", "large_pool", "small_pool"]
    for array, pool, value in itertools.product(ARRAYS, pools, VALUES):
        expected.add(f"{array}.{pool}.{value}")
    for array, value in itertools.product(["oversize_allocations", "oversize_segments"], VALUES):
        expected.add(f"{array}.{value}")
    ours = {key for key in stats() if not key.startswith("reserved_bytes_by_private_pools.")}
    assert expected | {"num_oom_rejections"} >= ours >= expected
    assert list(stats()) == sorted(stats())


def test_nested_and_flat_agree():
    x = torch.empty(5000, device="acme")
    nested = torch.acme.memory_stats_as_nested_dict()
    assert (
        nested["allocated_bytes"]["small_pool"]["current"]
        == (stats()["allocated_bytes.small_pool.current"])
    )
    assert nested["allocated_bytes"]["all"]["current"] == torch.acme.memory_allocated()
    del x


def test_peaks_and_totals():
    a = torch.empty(MEBIBYTE, dtype=torch.uint8, device="acme")
    b = torch.empty(MEBIBYTE, dtype=torch.uint8, device="acme")
    del a
    assert torch.acme.memory_allocated() == MEBIBYTE
    assert torch.acme.max_memory_allocated() == 2 * MEBIBYTE
    assert stats()["allocation.all.allocated"] == 2
    assert stats()["allocation.all.freed"] == 1
    torch.acme.reset_peak_memory_stats()
    torch.acme.reset_accumulated_memory_stats()
    assert torch.acme.max_memory_allocated() == MEBIBYTE
    assert stats()["allocation.all.allocated"] == stats()["allocation.all.freed"] == 0
    del b


def test_what_was_asked_for_and_what_it_takes():
    x = torch.empty(1001, dtype=torch.uint8, device="acme")
    assert stats()["requested_bytes.all.current"] == 1001
    assert 1001 <= stats()["allocated_bytes.all.current"] <= 1536
    del x


def test_the_pools_are_told_apart():
    small = torch.empty(MEBIBYTE, dtype=torch.uint8, device="acme")
    large = torch.empty(MEBIBYTE + 1, dtype=torch.uint8, device="acme")
    assert stats()["allocation.small_pool.current"] == 1
    assert stats()["allocation.large_pool.current"] == 1
    del small, large


def test_free_parts_of_segments_are_inactive_splits():
    x = torch.empty(4096, dtype=torch.uint8, device="acme")
    assert stats()["inactive_split.all.current"] == 1
    assert stats()["inactive_split_bytes.all.current"] + 4096 == torch.acme.memory_reserved()
    del x
    assert stats()["inactive_split.all.current"] == 0, "nobody uses the segment"
    torch.acme.empty_cache()
    assert torch.acme.memory_reserved() == 0
    assert stats()["num_device_free"] == stats()["num_device_alloc"] == 1


def test_memory_that_a_stream_uses_is_active(real_streams):
    side = torch.acme.Stream()
    x = torch.empty(4096, dtype=torch.uint8, device="acme")
    x.record_stream(side)
    del x
    assert stats()["allocation.all.current"] == 0
    assert stats()["active.all.current"] == 1
    side.synchronize()
    torch.empty(1, device="acme")
    assert stats()["active.all.current"] == 0


@pytest.mark.parametrize("abbreviated", [False, True])
def test_the_summary_is_a_table(abbreviated):
    x = torch.empty(3 * MEBIBYTE, dtype=torch.uint8, device="acme")
    lines = torch.acme.memory_summary(abbreviated=abbreviated).splitlines()
    assert {len(line) for line in lines} == {77}
    assert "PyTorch ACME memory summary, device ID 0" in lines[1]
    allocated = next(line for line in lines if "Allocated memory" in line)
    assert allocated.split("|")[2].split() == ["3072", "KiB"]
    assert any("from large pool" in line for line in lines) is not abbreviated
    del x
