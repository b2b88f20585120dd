"""What cannot be captured says so, leaves no graph, and leaves the process as it was."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_groups

acme = torch.acme


def works():
    x = torch.arange(4.0, device="acme")
    assert (x + x).tolist() == [0, 2, 4, 6]
    acme.synchronize()
    assert not acme.is_current_stream_capturing()


REFUSED = {
    "a value": ("x.sum().item()", "_local_scalar_dense cannot be captured"),
    "a list": ("x.tolist()", "cannot be captured"),
    "a shape": ("x.nonzero()", "aten::nonzero cannot be captured: the host needs a value"),
    "a mask": ("x[x > 0]", "cannot be captured"),
    "a copy to the CPU": ("x.cpu()", "aten::copy_ cannot be captured.*pageable"),
    "a copy from the CPU": ("x.copy_(torch.ones(4))", "aten::copy_ cannot be captured.*pageable"),
    "indices on the CPU": ("x[torch.tensor([1, 2])]", "cannot be captured.*pageable"),
    "a blocking copy of pinned memory": (
        "x.copy_(torch.ones(4).pin_memory())",
        "has the host wait",
    ),
    "a sparse tensor": ("x.to_sparse()", "cannot be captured|not permitted"),
    "waiting for the stream": (
        "torch.acme.current_stream().synchronize()",
        "the host cannot wait for a stream whose work is recorded",
    ),
    "asking the stream": (
        "torch.acme.current_stream().query()",
        "the host cannot wait for a stream",
    ),
    "waiting for the device": ("torch.acme.synchronize()", "the host cannot wait for a device"),
    "a replay": ("graph.replay()", "a graph cannot be replayed on a stream that is captured"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_captured_is_refused_and_breaks_the_capture(records, what):
    statement, words = REFUSED[what]
    x = torch.ones(4, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        x + 1
    names = {"x": x, "torch": torch, "graph": graph}
    broken = acme.CUDAGraph()
    with pytest.raises(RuntimeError, match=words):
        with acme.graph(broken):
            exec(statement, names)
    works()
    # Also where the program goes on as if nothing were.
    with acme.stream(acme.Stream()):
        broken.capture_begin()
        with pytest.raises(RuntimeError, match=words):
            exec(statement, names)
        with pytest.raises(RuntimeError, match="the capture was broken off, and left no graph"):
            broken.capture_end()
        with pytest.raises(RuntimeError, match="without a successful capture"):
            broken.replay()
    works()
    assert x.tolist() == [1, 1, 1, 1]
    graph.replay()


def test_a_mistake_in_an_operator_breaks_nothing(records):
    x = torch.ones(4, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        with pytest.raises(RuntimeError, match="must match"):
            x + torch.ones(3, device="acme")
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            x.clamp(torch.tensor(0.5))  # where CUDA takes no scalar of the CPU's
        y = x + 1
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [3] * 4


def test_an_operator_that_fails_in_a_replay_is_reported_at_the_next_wait(records):
    x = torch.ones(4, device="acme")
    index = torch.tensor([0, 3], device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = x.index_select(0, index)
    index.copy_(torch.tensor([0, 400]))
    graph.replay()
    with pytest.raises(
        RuntimeError, match=r"an operator failed in a graph's replay: .*index out of"
    ):
        acme.synchronize()
    works()
    index.copy_(torch.tensor([1, 1]))
    graph.replay()
    assert y.tolist() == [1, 1]


def test_memory_is_not_given_back_during_a_capture(records):
    x = torch.ones(4, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        y = x + 1
        with pytest.raises(RuntimeError, match="cannot be given back while a graph is captured"):
            acme.empty_cache()
    graph.replay()
    assert y.tolist() == [2] * 4


def test_a_capture_that_runs_out_of_memory_ends_well(records):
    with pytest.raises(torch.OutOfMemoryError):
        with acme.graph(acme.CUDAGraph()):
            torch.empty(1 << 50, device="acme")
    works()


def test_running_out_of_memory_in_a_capture_says_what_is_cached_still(captures):
    acme.empty_cache()
    mib = 1 << 20
    total = acme.mem_get_info()[1]
    acme.set_per_process_memory_fraction((acme.memory_reserved() + 64 * mib) / total)
    graph = acme.CUDAGraph()
    try:
        with acme.stream(acme.Stream()):
            torch.empty(40 * mib, dtype=torch.uint8, device="acme")
            graph.capture_begin()
            with acme.stream(acme.default_stream()):
                with pytest.raises(torch.OutOfMemoryError) as caught:
                    torch.empty(50 * mib, dtype=torch.uint8, device="acme")
            graph.capture_end()
    finally:
        acme.set_per_process_memory_fraction(1.0)
    text = str(caught.value)
    assert "its cache was not emptied, since a graph is captured on this device" in text
    assert "in parts of at most 40.00 MiB" in text
    works()


def test_the_default_stream_is_not_captured(captures):
    with pytest.raises(RuntimeError, match="captured on a stream that is not the default one"):
        acme.CUDAGraph().capture_begin()
    with pytest.raises(RuntimeError, match="not the default one"):
        with acme.graph(acme.CUDAGraph(), stream=acme.default_stream()):
            pass
    assert acme.current_stream() == acme.default_stream()
    works()


def test_calls_out_of_order_are_refused(captures):
    graph = acme.CUDAGraph()
    for call, words in {
        "capture_end": r"capture_end\(\) without a capture_begin",
        "replay": r"replay\(\) without a successful capture",
        "instantiate": r"instantiate\(\) without a successful capture",
        "pool": r"pool\(\) before a capture has begun",
    }.items():
        with pytest.raises(RuntimeError, match=words):
            getattr(graph, call)()
    graph.reset()
    with acme.stream(acme.Stream()):
        graph.capture_begin()
        with pytest.raises(RuntimeError, match="holds a capture already"):
            graph.capture_begin()
        with pytest.raises(RuntimeError, match="another capture cannot begin on the same stream"):
            acme.CUDAGraph().capture_begin()
        with pytest.raises(RuntimeError, match="that is being captured"):
            graph.reset()
        with acme.stream(acme.Stream()):
            with pytest.raises(RuntimeError, match="ends on the stream that it began on"):
                graph.capture_end()
        graph.capture_end()
    with pytest.raises(RuntimeError, match="holds a capture already"):
        with acme.graph(graph):
            pass


def test_a_with_statement_that_leaves_another_stream_current_leaves_no_capture(captures):
    graph = acme.CUDAGraph()
    before = acme.current_stream()
    with pytest.raises(RuntimeError, match="ends on the stream that it began on"):
        with acme.graph(graph):
            captured = acme.current_stream()  # of a pool, which has it again after 32 others
            acme.set_stream(next(it for it in iter(acme.Stream, None) if it != captured))
    assert acme.current_stream() == before
    with acme.graph(graph):
        pass


def test_a_context_is_left_as_often_as_it_is_entered(records):
    x, graph = torch.ones(4, device="acme"), acme.CUDAGraph()
    context = acme.graph(graph)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="this context was not entered"):
            context.__exit__(None, None, None)
        with context:
            with pytest.raises(RuntimeError, match="this context was entered already: leave it"):
                context.__enter__()
            result = x + x
        graph.replay()
        assert result.tolist() == [2, 2, 2, 2]
        graph.reset()
    works()


def test_arguments_are_checked(captures):
    graph = acme.CUDAGraph()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        graph.capture_begin(capture_error_mode="strict")
    with pytest.raises(TypeError, match="expected a pool of graphs"):
        graph.capture_begin(pool=3)
    with pytest.raises(NotImplementedError, match="check_input_liveness"):
        graph.capture_begin(check_input_liveness=True)
    with pytest.raises(NotImplementedError, match="enable_annotations"):
        acme.graph(graph, enable_annotations=True)
    for mode in ("global", "thread_local", "relaxed"):
        with acme.graph(graph, capture_error_mode=mode):
            pass
        graph.reset()


def test_what_is_in_a_graph_cannot_be_told():
    graph = acme.CUDAGraph()
    for call in (graph.enable_debug_mode, lambda: graph.debug_dump("graph.dot")):
        with pytest.raises(NotImplementedError, match="group graphs has no slot that describes"):
            call()


def test_a_stream_that_did_not_come_back_is_an_error(records):
    x = torch.ones(4, device="acme")
    other = acme.Stream()
    with pytest.raises(RuntimeError, match="was not joined"):
        with acme.graph(acme.CUDAGraph()):
            other.wait_stream(acme.current_stream())
            with acme.stream(other):
                x.add_(1)
    assert not other.is_capturing()
    works()
    assert x.tolist() == [1] * 4


def test_a_graph_that_dies_while_it_captures_ends_the_capture(records):
    with acme.stream(acme.Stream()):
        graph = acme.CUDAGraph()
        graph.capture_begin()
        torch.ones(3, device="acme")
        del graph
    works()


def test_operators_that_need_the_cpu_over_copies_are_refused(captures):
    """Where the CPU cannot reach the memory, an operator that it serves is never left out."""
    x = torch.ones(4, device="acme")
    graph = acme.CUDAGraph()
    try:
        with acme.graph(graph):
            y = x + 1
    except RuntimeError as e:
        assert "captur" in str(e)
    else:
        x.fill_(2)
        graph.replay()
        assert y.tolist() == [3] * 4
    works()


def test_fills_are_captured_without_the_cpu(captures):
    x = torch.zeros(4, device="acme")
    graph = acme.CUDAGraph()
    with acme.graph(graph):
        x.fill_(3)
    assert x.tolist() == [0] * 4
    graph.replay()
    assert x.tolist() == [3] * 4


def test_a_runtime_without_graphs_says_so():
    if acme.Stream().stream_id != 0:
        pytest.skip("this runtime has streams, and more")
    with pytest.raises(NotImplementedError, match="group graphs"):
        with acme.graph(acme.CUDAGraph()):
            pass
    with pytest.raises(NotImplementedError, match="group graphs"):
        acme.CUDAGraph().capture_begin()
    works()
