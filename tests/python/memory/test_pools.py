"""MemPool and use_mem_pool."""

import gc
import threading

import pytest
import torch

pytestmark = pytest.mark.any_runtime

MEBIBYTE = 1 << 20


def bytes_of(size):
    return torch.empty(size, dtype=torch.uint8, device="acme")


def test_a_pool_serves_only_what_is_inside():
    pool = torch.acme.MemPool()
    with torch.acme.use_mem_pool(pool):
        inside = bytes_of(5000)
    outside = bytes_of(5000)
    [segment] = pool.snapshot()
    assert segment["segment_pool_id"] == pool.id
    assert segment["blocks"][0]["address"] == inside.data_ptr()
    place = inside.data_ptr()
    del inside
    assert bytes_of(5000).data_ptr() != place, "freed memory stays the pool's"
    with torch.acme.use_mem_pool(pool):
        assert bytes_of(5000).data_ptr() == place
    del outside


def test_ids_differ_and_uses_are_counted():
    a, b = torch.acme.MemPool(), torch.acme.MemPool()
    assert a.id != b.id and a.id[0] == 0
    assert a.use_count() == 1
    with torch.acme.use_mem_pool(a):
        assert a.use_count() == 2
        with torch.acme.use_mem_pool(b):
            x = bytes_of(100)
        y = bytes_of(100)
    assert a.use_count() == b.use_count() == 1
    assert [len(pool.snapshot()) for pool in (a, b)] == [1, 1]
    del x, y


def test_only_this_thread_allocates_there():
    pool = torch.acme.MemPool()
    with torch.acme.use_mem_pool(pool):
        thread = threading.Thread(target=lambda: bytes_of(5000))
        thread.start()
        thread.join()
    assert pool.snapshot() == []


def test_the_context_ends_with_an_exception():
    pool = torch.acme.MemPool()
    with pytest.raises(LookupError):
        with torch.acme.use_mem_pool(pool):
            raise LookupError
    x = bytes_of(5000)
    assert pool.snapshot() == []
    with pytest.raises(RuntimeError, match="does not serve this thread"):
        torch.acme.use_mem_pool(pool).__exit__(None, None, None)
    with pytest.raises(TypeError, match=r"expected a torch\.acme\.MemPool, got int"):
        torch.acme.use_mem_pool(1)
    del x


def test_another_device_joins(two_devices):
    pool = torch.acme.MemPool()
    with torch.acme.use_mem_pool(pool, 1):
        here = bytes_of(100)
        there = torch.empty(100, device="acme:1")
    assert [segment["device"] for segment in pool.snapshot()] == [1]
    del here, there


def test_a_pools_memory_goes_with_it():
    pool = torch.acme.MemPool()
    with torch.acme.use_mem_pool(pool):
        bytes_of(5000)
    torch.acme.empty_cache()
    assert torch.acme.memory_reserved() > 0, "the pool keeps what it has"
    del pool
    gc.collect()
    assert torch.acme.memory_reserved() == 0


def test_tensors_outlive_their_pool():
    pool = torch.acme.MemPool()
    with torch.acme.use_mem_pool(pool):
        x = torch.ones(5000, device="acme")
    x += 0
    del pool
    gc.collect()
    assert x.sum().item() == 5000
    del x
    torch.acme.empty_cache()
    assert torch.acme.memory_reserved() == 0


@pytest.mark.parametrize("lends", [False, True])
def test_a_pool_may_lend_before_memory_runs_out(lends):
    total = torch.acme.mem_get_info()[1]
    torch.acme.set_per_process_memory_fraction(64 * MEBIBYTE / total)
    pool = torch.acme.MemPool(use_on_oom=lends)
    with torch.acme.use_mem_pool(pool):
        bytes_of(40 * MEBIBYTE)
    if lends:
        assert bytes_of(30 * MEBIBYTE).numel() == 30 * MEBIBYTE
    else:
        with pytest.raises(torch.OutOfMemoryError):
            bytes_of(30 * MEBIBYTE)


def test_a_pool_may_keep_segments_whole():
    pool = torch.acme.MemPool(no_split=True)
    with torch.acme.use_mem_pool(pool):
        a, b = bytes_of(5000), bytes_of(5000)
    assert [len(segment["blocks"]) for segment in pool.snapshot()] == [1, 1]
    del a, b


def test_the_counters_name_the_pool():
    nested = torch.acme.memory_stats_as_nested_dict()
    if "reserved_bytes_by_private_pools" not in nested:
        pytest.skip("this torch does not count pools apart")
    pool = torch.acme.MemPool()
    with torch.acme.use_mem_pool(pool):
        x = bytes_of(5000)
    pools = torch.acme.memory_stats_as_nested_dict()["reserved_bytes_by_private_pools"]
    assert pools[pool.id]["all"]["current"] == torch.acme.memory_reserved()
    flat = f"reserved_bytes_by_private_pools.{pool.id[0]}_{pool.id[1]}.all.current"
    assert torch.acme.memory_stats()[flat] == torch.acme.memory_reserved()
    del x


def test_a_function_can_be_decorated_to_use_a_pool():
    pool = torch.acme.MemPool()

    @torch.acme.use_mem_pool(pool)
    def make(size: int, *, fails: bool = False) -> torch.Tensor:
        if fails:
            raise ZeroDivisionError
        return bytes_of(size)

    assert make.__name__ == "make"
    x, y = make(5000), make(size=5000)
    with pytest.raises(ZeroDivisionError):
        make(5000, fails=True)
    outside = bytes_of(5000)
    addresses = [
        range(segment["address"], segment["address"] + segment["total_size"])
        for segment in pool.snapshot()
    ]
    inside = [any(it.data_ptr() in range_ for range_ in addresses) for it in (x, y, outside)]
    assert inside == [True, True, False]
    del x, y
