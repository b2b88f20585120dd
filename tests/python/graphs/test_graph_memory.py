"""The memory of graphs: apart from all other, there as long as the graph, shared where asked."""

import gc
import weakref

import pytest
import torch

acme = torch.acme
pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.usefixtures("records"),
]
MIB = 1 << 20


def pool_segments(pool):
    return [s for s in acme.memory_snapshot() if tuple(s["segment_pool_id"]) == tuple(pool)]


def test_a_capture_allocates_from_a_pool_of_its_own():
    x = torch.ones(MIB, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = x + 1
    segments = pool_segments(graph.pool())
    assert any(s["address"] <= y.data_ptr() < s["address"] + s["total_size"] for s in segments)
    del y
    # Nobody else gets it, and emptying the cache leaves it alone.
    held = {s["address"] for s in segments}
    others = [torch.empty(MIB, device="acme") for _ in range(4)]
    acme.empty_cache()
    assert held == {s["address"] for s in pool_segments(graph.pool())}
    for other in others:
        for s in segments:
            assert not s["address"] <= other.data_ptr() < s["address"] + s["total_size"]


def test_results_stay_where_they_are_until_the_reset():
    x = torch.ones(MIB, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = x * 2
    address = y.data_ptr()
    acme.empty_cache()
    junk = [torch.randn(MIB, device="acme") for _ in range(3)]
    x.fill_(4)
    graph.replay()
    assert y.data_ptr() == address and y.eq(8).all()
    del junk, y
    pool = graph.pool()
    graph.reset()
    acme.empty_cache()
    assert not pool_segments(pool)


@pytest.mark.parametrize("of", ["graph", "handle", "MemPool"])
def test_graphs_share_a_pool(of):
    x = torch.ones(MIB, device="acme")
    first, second = acme.CUDAGraph(), acme.CUDAGraph()
    kept = acme.MemPool() if of == "MemPool" else None
    pool = {"graph": None, "handle": acme.graph_pool_handle(), "MemPool": kept}[of]
    with acme.graph(first, pool=pool):
        temporary = x + 1
        y = temporary * 2
        del temporary
    pool = first.pool() if pool is None else pool
    with acme.graph(second, pool=pool):
        z = y + 1  # where `temporary` was
    assert first.pool() == second.pool()
    segments = pool_segments(first.pool())
    assert sum(s["total_size"] for s in segments) < 3.5 * y.nbytes
    x.fill_(5)
    first.replay()
    second.replay()
    assert z.eq(13).all()
    first.reset()
    acme.empty_cache()
    y.fill_(1)
    second.replay()
    assert z.eq(2).all()


def test_inputs_live_as_long_as_the_graph():
    x = torch.ones(MIB, device="acme")
    size = x.nbytes
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = x[:10] + 1
    before = acme.memory_allocated()
    del x
    acme.empty_cache()
    assert acme.memory_allocated() == before
    graph.replay()
    assert y.eq(2).all()
    graph.reset()
    assert acme.memory_allocated() <= before - size


def test_an_input_that_got_other_memory_is_refused():
    x = torch.ones(1000, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        x + 1
    x.untyped_storage().resize_(1 << 16)
    with pytest.raises(RuntimeError, match="fill such tensors in place, or capture the graph anew"):
        graph.replay()


def test_what_another_stream_uses_is_not_reused_before_the_capture_ends():
    x = torch.ones(MIB, device="acme")
    other = acme.Stream()
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = x + 1
        other.wait_stream(acme.current_stream())
        with acme.stream(other):
            z = y * 2
        y.record_stream(other)
        address = y.data_ptr()
        del y
        w = torch.empty(MIB, device="acme")
        assert w.data_ptr() != address
        acme.current_stream().wait_stream(other)
    graph.replay()
    assert z.eq(4).all()
    # Afterwards it comes back as all other memory of the graph does.
    pool = graph.pool()
    del w, z
    graph.reset()
    acme.synchronize()
    acme.empty_cache()
    assert not pool_segments(pool)


def test_memory_of_a_capture_counts_as_any_other():
    before = acme.memory_allocated()
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = torch.ones(MIB, device="acme")
        assert acme.memory_allocated() >= before + y.nbytes
    assert acme.memory_allocated() >= before + y.nbytes


def test_a_graph_keeps_no_reference_to_what_python_made():
    class Box:
        pass

    box = Box()
    dead = weakref.ref(box)
    x = torch.ones(3, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        x.add_(1)
        del box
    assert dead() is None


def test_a_kernel_may_keep_what_a_capture_lent_it():
    kept = []

    @torch.library.custom_op("outback_graphs::keeps", mutates_args=(), device_types="cpu")
    def keeps(x: torch.Tensor) -> torch.Tensor:
        kept.append(x)
        return x + 1

    x = torch.arange(1000.0, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = x * 2
        keeps(y)
        del y
        torch.full((1000,), 7.0, device="acme")  # not in its place
    graph.replay()
    acme.synchronize()
    held = acme.memory_reserved()
    del graph
    gc.collect()
    acme.empty_cache()
    assert acme.memory_reserved() == held
    others = [torch.full((1000,), 7.0, device="acme") for _ in range(40)]
    assert torch.equal(kept[0], torch.arange(1000.0) * 2)
    del others
    kept.clear()
    acme.empty_cache()
    assert acme.memory_stats()["active_bytes.all.current"] == acme.memory_allocated()


def test_a_kernel_may_keep_what_a_replay_lent_it():
    kept = []
    is_captured = False

    @torch.library.custom_op("outback_graphs::keeps_replays", mutates_args=(), device_types="cpu")
    def keeps(x: torch.Tensor) -> torch.Tensor:
        if is_captured:
            kept.append(x)
        return x + 1

    acme.empty_cache()
    before = acme.memory_reserved()
    x = torch.arange(1000.0, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = x * 2
        z = keeps(y)
    is_captured = True
    graph.replay()
    acme.synchronize()
    held = acme.memory_reserved()
    del graph, y, z
    gc.collect()
    acme.empty_cache()
    assert acme.memory_reserved() == held
    others = [torch.full((1000,), 7.0, device="acme") for _ in range(40)]
    assert torch.equal(kept[0], torch.arange(1000.0) * 2)
    del others, x
    kept.clear()
    acme.empty_cache()
    assert acme.memory_reserved() == before


def test_what_a_graph_held_in_a_launch_goes_back_with_the_cache():
    acme.empty_cache()
    before = acme.memory_reserved()
    x = torch.ones(1 << 20, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = x * 2
    acme._sleep(20_000_000)
    graph.replay()
    del graph, x, y  # while the launch is pending
    acme.synchronize()
    acme.empty_cache()
    assert acme.memory_reserved() == before


def test_captures_and_replays_keep_nothing(grows_by):
    """Each capture asks the dispatcher who serves 400 operators. 1,000 bytes: lists grow now and
    then, and then for long."""
    capture = """
    x = torch.ones(8, device="acme")
    def work():
        graph = acme.CUDAGraph()
        with acme.graph(graph):
            y = x + 1
        graph.replay()
    """
    assert grows_by(capture, 50) < 1000
