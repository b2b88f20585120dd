"""Pinned memory and captures: what a capture leaves behind, and what a graph copies from and to."""

import gc

import pytest
import torch

acme = torch.acme
pytestmark = [pytest.mark.turns_on_memory, pytest.mark.usefixtures("captures")]

N = 1 << 18  # floats: one MiB


def held() -> int:
    gc.collect()
    acme.synchronize()
    return acme.host_memory_stats()["allocated_bytes.current"]


def captured(body):
    """The graph of what `body` does, or None if the capture was refused."""
    graph = acme.CUDAGraph()
    try:
        with acme.graph(graph):
            body()
    except RuntimeError:
        return None
    return graph


@pytest.fixture
def y():
    return torch.zeros(N, device="acme")


# Each uses pinned memory on the captured stream, its own or a stage, and lets go of it.
BODIES = {
    "a copy to the device": lambda y: y.copy_(torch.empty(N, pin_memory=True), non_blocking=True),
    "a copy to the host": lambda y: y.to("cpu", non_blocking=True),
    "both, then a wait": lambda y: (
        y.copy_(torch.empty(N, pin_memory=True), non_blocking=True),
        y.to("cpu", non_blocking=True),
        acme.synchronize(),
    ),
    "an operator": lambda y: y + 1,
    "an operator in place": lambda y: y.relu_(),
    "a product": lambda y: y @ y,
    "a value": lambda y: y[0].item(),
    "several tensors": lambda y: torch.cat([y, y]),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_no_capture_loses_pinned_memory(y, body):
    captured(lambda: body(y))  # the first one may take what later ones use again
    before = held()
    for _ in range(20):
        captured(lambda: body(y))
    assert held() - before <= 2 * N * 4, "pinned memory was lost"


def test_pinned_memory_of_before_is_given_back_by_a_graph_that_goes(y):
    def once():
        mine = [torch.empty(N, pin_memory=True)]
        captured(lambda: (y.copy_(mine[0], non_blocking=True), mine.clear()))

    once()
    before = held()
    for _ in range(20):
        once()
    assert held() - before <= 2 * N * 4


def test_a_refusal_comes_before_anything_is_copied(run_python):
    """Over copies an operator waits for its stages, so it is refused before they are filled."""
    run_python(
        """
        import torch, torch_acme
        acme = torch.acme
        y = torch.zeros(1 << 18, device="acme")
        acme.synchronize()
        before = acme.host_memory_stats().get("allocated_bytes.allocated", 0)
        try:
            with acme.graph(acme.CUDAGraph()):
                y.relu_()
        except RuntimeError as error:
            assert "capturing" in str(error) or "broken off" in str(error), error
            assert acme.host_memory_stats().get("allocated_bytes.allocated", 0) == before
        """
    )


# ---- What a graph uses is not handed out


def others(count=6):
    """Pinned tensors of the same size, filled with -1."""
    return [torch.full((N,), -1.0).pin_memory() for _ in range(count)]


@pytest.mark.parametrize("when", ["in the capture", "after the capture", "after a replay"])
def test_what_a_graph_reads_stays_as_it_is(y, when):
    mine = [torch.full((N,), 7.0).pin_memory()]

    def body():
        y.copy_(mine[0], non_blocking=True)
        if when == "in the capture":
            mine.clear()

    graph = captured(body)
    if when == "after a replay":
        graph.replay()
    mine.clear()
    acme.synchronize()
    kept = others()
    y.zero_()
    graph.replay()
    assert y.eq(7).all(), "the graph has copied somebody else's memory"
    del kept


def test_what_a_graph_writes_is_nobody_elses():
    x = torch.full((N,), 7.0, device="acme")
    graph = captured(lambda: x.to("cpu", non_blocking=True))
    acme.synchronize()
    kept = others()
    graph.replay()
    acme.synchronize()
    assert all(each.eq(-1).all() for each in kept), "the graph wrote into somebody else's memory"


def test_the_memory_of_two_graphs_is_held_until_both_are_gone(y):
    source = [torch.full((N,), 7.0).pin_memory()]
    address = source[0].data_ptr()
    graphs = [captured(lambda: y.copy_(source[0], non_blocking=True)) for _ in range(2)]
    source.clear()
    for _ in range(2):
        acme.synchronize()
        kept = others()
        assert address not in {each.data_ptr() for each in kept}
        y.zero_()
        graphs[-1].replay()
        assert y.eq(7).all()
        graphs.pop().reset()
    del kept
    acme.synchronize()
    assert address in {each.data_ptr() for each in others(16)}, "nobody gets it any more"


def test_a_graph_that_is_reset_leaves_memory_to_its_tensor(y):
    source = torch.full((N,), 7.0).pin_memory()
    graph = captured(lambda: y.copy_(source, non_blocking=True))
    graph.replay()
    graph.reset()
    acme.synchronize()
    kept = others()
    assert source.data_ptr() not in {each.data_ptr() for each in kept}
    assert source.eq(7).all() and y.eq(7).all()


def test_replays_that_go_on_keep_it_after_the_reset(y):
    source = [torch.full((N,), 7.0).pin_memory()]
    address = source[0].data_ptr()
    graph = captured(lambda: (y.copy_(source[0], non_blocking=True), source.clear()))
    y.zero_()
    stream = acme.Stream()
    stream.wait_stream(acme.current_stream())
    with acme.stream(stream):
        acme._sleep(100_000_000)
        graph.replay()
    graph.reset()
    kept = others()
    is_running = not stream.query()
    assert not is_running or address not in {each.data_ptr() for each in kept}
    stream.synchronize()
    assert y.eq(7).all()


def test_memory_that_was_used_before_the_capture_comes_back_after_it(y):
    stream = acme.Stream()
    stream.wait_stream(acme.current_stream())
    mine = torch.full((N,), 7.0).pin_memory()
    address = mine.data_ptr()
    with acme.stream(stream):
        y.copy_(mine, non_blocking=True)
    graph = acme.CUDAGraph()
    with acme.graph(graph, stream=stream):
        y.zero_()
        del mine  # its stream records no event that is ever over
        kept = others()
        assert address not in {each.data_ptr() for each in kept}
    del kept
    acme.synchronize()
    assert address in {each.data_ptr() for each in others(16)}
