"""torch.accelerator.Graph, on the releases that have it."""

import pytest
import torch

acme = torch.acme
pytestmark = [
    pytest.mark.turns_on_groups,
    pytest.mark.skipif(not hasattr(torch.accelerator, "Graph"), reason="needs torch 2.12 or newer"),
]


def test_graphs_share_a_pool_and_capture_anew(records):
    x = torch.ones(100, device="acme")
    first = torch.accelerator.Graph(keep_graph=True, capture_error_mode="relaxed")
    with acme.stream(acme.Stream()):
        with first:
            y = x + 1
        second = torch.accelerator.Graph(pool=first.pool())
        with second:
            z = y * 2
    assert second.pool() == first.pool()
    x.fill_(2)
    first.instantiate()
    first.replay()
    second.replay()
    assert z.eq(6).all()
    second.reset()
    with acme.stream(acme.Stream()), second:
        x.add_(1)
    second.replay()
    assert x.eq(3).all()


def test_what_fails_says_so(captures):
    graph = torch.accelerator.Graph()
    with pytest.raises(RuntimeError, match="without a successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="not the default one"):
        graph.capture_begin()
    for call in (graph.enable_debug_mode, lambda: graph.debug_dump("graph.dot")):
        with pytest.raises(NotImplementedError, match="no slot that describes"):
            call()


def test_a_runtime_without_graphs_says_so():
    if acme.Stream().stream_id != 0:
        pytest.skip("this runtime has streams, and more")
    with pytest.raises(NotImplementedError, match="group graphs"):
        torch.accelerator.Graph().capture_begin()
