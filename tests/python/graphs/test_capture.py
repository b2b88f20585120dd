"""What is captured is not run, and each replay runs it on the same memory."""

import contextlib
import threading

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

acme = torch.acme
pytestmark = [
    pytest.mark.any_runtime,
    pytest.mark.usefixtures("records"),
]


def captured(function, **options):
    graph = acme.CUDAGraph()
    with acme.graph(graph, **options):
        result = function()
    return graph, result


def test_linear_algebra_is_replayed_as_it_runs():
    a, b = torch.randn(17, 9, device="acme"), torch.randn(9, 17, device="acme")

    def compute():
        c = torch.linalg.solve_ex(a @ b + 20 * torch.eye(17, device="acme"), a)[0]
        return (c.relu() + c.t().contiguous().t(), c.sum(), torch.softmax(c, 1), c.argmax(1))

    graph, results = captured(compute)
    for _ in range(3):
        a.copy_(torch.randn(17, 9))
        b.copy_(torch.randn(9, 17))
        graph.replay()
        for result, expected in zip(results, compute(), strict=True):
            assert torch.equal(result, expected)


def test_fake_tensors_stay_fake_in_a_capture():
    """torch.compile makes them, where a function is compiled at its first call. Operators that
    torch composes have kernels of their own for them: prims, and those with
    torch.library.register_fake.
    """
    with torch.library._scoped_library("acme_fakes", "DEF") as library:
        library.define("halve(Tensor x) -> Tensor")
        real = lambda x: x / 2 if x.is_acme else 1 / 0  # noqa: E731
        torch.library.impl("acme_fakes::halve", "CompositeExplicitAutograd", real, lib=library)
        torch.library.register_fake("acme_fakes::halve", torch.empty_like, lib=library)
        halve = torch.ops.acme_fakes.halve
        mode = FakeTensorMode()
        x = torch.full((2, 3), 4.0, device="acme")
        fake = mode.from_tensor(x)

        def compute():
            with mode:
                assert torch.relu(fake).shape == halve(fake).shape == (2, 3)
            return halve(x.relu())

        graph, result = captured(compute)
        x.fill_(8)
        graph.replay()
        assert result.eq(4).all()


@pytest.mark.parametrize("loss", [functional.mse_loss, functional.smooth_l1_loss])
def test_a_loss_warns_of_nothing_in_a_capture_or_a_replay(loss, recwarn, capfd):
    x, y = torch.rand(5, 2, device="acme"), torch.rand(5, 2, device="acme")
    graph, result = captured(lambda: loss(x, y))
    x.mul_(2)
    graph.replay()
    assert torch.equal(result, loss(x, y))
    assert not [each for each in recwarn if "resized" in str(each.message)]
    assert "resized" not in capfd.readouterr().err


def test_a_kernel_of_ones_own_writes_by_indices_in_a_capture(run_python):
    """Below index_put_, which only calls it."""
    run_python("""
import warnings; warnings.simplefilter("ignore")  # torch: a kernel is overridden
import torch, torch_acme
calls = []
def put(self, indices, values, accumulate=False, unsafe=False):
    calls.append(len(indices))
    return self
library = torch.library.Library("aten", "IMPL")
library.impl("_index_put_impl_", put, "PrivateUse1")
x, i = torch.zeros(4, device="acme"), torch.tensor([1], device="acme")
with torch.acme.graph(torch.acme.CUDAGraph()):
    x[i] = torch.ones(1, device="acme")
assert calls == [1]
""")


OPERATORS = {
    "a copy": lambda x: x.clone(),
    "a write by indices": lambda x: x.index_add_(0, torch.arange(4, device="acme"), x.clone()),
    "several results": lambda x: torch.stack(
        list(torch.max(x, 1)[:1] + torch.sort(x, 1)[:1][0].unbind(1))
    ),
    "a result that grows": lambda x: torch.add(x, x, out=torch.empty(0, device="acme")),
    "a decomposition": lambda x: torch.linalg.svdvals(x),
    "a scalar of the CPU's": lambda x: x * torch.tensor(3.0) + 1.5,
    "a complex number": lambda x: torch.fft.fft(x).conj().real,
}


@pytest.mark.parametrize("what", OPERATORS)
def test_an_operator_is_replayed_as_it_runs(what):
    function = OPERATORS[what]
    x = torch.randn(4, 6, device="acme")
    before = x.clone()
    graph, result = captured(lambda: function(x))
    assert torch.equal(x, before), "a capture runs nothing"
    for _ in range(2):
        fresh = torch.randn(4, 6)
        x.copy_(fresh)
        expected = function(fresh.acme())
        graph.replay()
        assert torch.equal(result, expected)


def test_a_conjugate_is_one_after_every_replay():
    """The kernel writes the conjugate and flips the conj bit of the result that it is given."""
    identity = torch.eye(3, dtype=torch.complex64, device="acme")
    factors, pivots = torch.linalg.lu_factor(torch.randn_like(identity) + 4 * identity)
    right = torch.randn(2, 3, dtype=torch.complex64, device="acme")

    def solve():
        out = torch.empty(0, dtype=torch.complex64, device="acme")
        return torch.linalg.lu_solve(factors, pivots, right, left=False, out=out)

    graph, result = captured(solve)
    for _ in range(3):
        right.copy_(torch.randn(2, 3, dtype=torch.complex64))
        graph.replay()
        expected = solve()
        assert result.is_conj() and expected.is_conj()
        assert torch.equal(result, expected)


def test_a_scalar_of_the_cpus_is_taken_as_it_was_at_the_capture():
    x, scalar = torch.randn(5, device="acme"), torch.tensor(3.0)
    graph, result = captured(lambda: x * scalar)
    scalar.fill_(5)
    graph.replay()
    assert torch.equal(result, x * 3)


@pytest.mark.filterwarnings("ignore:RNN module weights")
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_networks_are_captured(kind):
    net = getattr(torch.nn, kind)(5, 4).acme()
    x = torch.randn(3, 2, 5, device="acme")
    graph, (result, _) = captured(lambda: net(x))
    x.normal_()
    graph.replay()
    assert torch.equal(result, net(x)[0])


def test_the_stream_is_capturing_inside_and_ones_own_is_back_outside():
    before = acme.current_stream()
    assert not acme.is_current_stream_capturing()
    with acme.graph(acme.CUDAGraph()):
        inside = acme.current_stream()
        assert acme.is_current_stream_capturing() and inside.is_capturing()
        assert inside.stream_id != 0
    assert acme.current_stream() == before
    assert not acme.is_current_stream_capturing() and not inside.is_capturing()


def test_a_stream_of_ones_own_is_captured():
    stream = acme.Stream()
    with acme.graph(acme.CUDAGraph(), stream=stream):
        assert acme.current_stream() == stream


def test_what_is_not_on_the_stream_runs_at_once():
    x = torch.ones(3, device="acme")
    outside = acme.default_stream()
    with acme.graph(acme.CUDAGraph()), acme.stream(outside):
        y = x + 1
        assert y.tolist() == [2, 2, 2]


def test_a_graph_that_is_kept_is_instantiated_once():
    x = torch.ones(3, device="acme")
    graph = acme.CUDAGraph(keep_graph=True)
    with acme.graph(graph):
        x.add_(1)
    graph.instantiate()
    with pytest.raises(RuntimeError, match="instantiated already"):
        graph.instantiate()
    graph.replay()
    assert x.tolist() == [2, 2, 2]
    lazy = acme.CUDAGraph(keep_graph=True)
    with acme.graph(lazy):
        x.add_(1)
    lazy.replay()
    assert x.tolist() == [3, 3, 3]


def test_a_graph_that_was_reset_captures_anew():
    x = torch.ones(3, device="acme")
    graph, _ = captured(lambda: x.add_(1))
    graph.reset()
    with pytest.raises(RuntimeError, match=r"replay\(\) without a successful capture"):
        graph.replay()
    with acme.graph(graph):
        x.add_(10)
    graph.replay()
    assert x.tolist() == [11, 11, 11]


def test_the_default_device_of_a_capture_is_the_current_one(two_devices):
    with acme.device(1):
        x = torch.ones(3, device="acme:1")
        graph, y = captured(lambda: x + 1)
    x.fill_(5)
    graph.replay()
    assert y.device == torch.device("acme:1")
    assert y.tolist() == [6, 6, 6]


def test_threads_capture_and_replay_side_by_side():
    problems = []
    barrier = threading.Barrier(4)

    def work(number):
        try:
            x = torch.full((100,), float(number), device="acme")
            graph = acme.CUDAGraph()
            acme.synchronize()
            with acme.stream(acme.Stream()):
                barrier.wait()
                graph.capture_begin()
                y = x * 2 + 1
                y = y.sum()
                graph.capture_end()
                barrier.wait()
                for step in range(10):
                    x.fill_(number + step)
                    graph.replay()
                    assert y.item() == 100 * (2 * (number + step) + 1)
        except BaseException as e:
            problems.append(e)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not problems


def test_many_threads_replay_one_graph():
    x = torch.zeros(10, device="acme")
    graph, _ = captured(lambda: x.add_(1))
    acme.synchronize()

    def replay():
        with acme.stream(acme.Stream()):
            for _ in range(25):
                graph.replay()
            acme.current_stream().synchronize()

    threads = [threading.Thread(target=replay) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert x.tolist() == [100] * 10


def test_the_class_has_the_vendors_name_and_cudas():
    assert acme.CUDAGraph is acme.ACMEGraph is acme.graphs.CUDAGraph
    assert acme.CUDAGraph.__name__ == "ACMEGraph"

    class Mine(acme.CUDAGraph):
        pass

    mine = Mine()
    mine.note = "of my own"
    with acme.graph(mine):
        pass
    mine.replay()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_the_dropout_of_a_recurrent_layer_draws_anew_in_each_replay(kind, mode):
    layer = kind(5, 6, num_layers=2, dropout=0.5).acme()
    x = torch.randn(7, 3, 5, device="acme")
    with mode():
        graph, output = captured(lambda: layer(x)[0])
        results = []
        for seed in (1, 2, 1):
            torch.manual_seed(seed)
            graph.replay()
            results.append(output.cpu())
    assert torch.equal(results[0], results[2])
    assert not torch.equal(results[0], results[1])


THREADS = """
import torch
import torch_acme
seen = []

@torch.library.custom_op("outback_graphs::notes_threads", mutates_args=(), device_types="cpu")
def notes_threads(x: torch.Tensor) -> torch.Tensor:
    seen.append(torch.get_num_threads())
    return x + 1

x = torch.ones(3, device="acme")
graph = torch.acme.CUDAGraph()
with torch.acme.graph(graph):
    notes_threads(x)
seen.clear()
for count in (1, 3, 2):
    torch.set_num_threads(count)
    graph.replay()
    torch.acme.synchronize()
print(seen)
"""


def test_a_replay_has_as_many_threads_as_the_thread_that_asks_for_it(run_python):
    assert run_python(THREADS).output == "[1, 3, 2]"


@pytest.fixture
def two_captures():
    """Enters each of two captures, on streams of their own, that are open at the same time."""
    graphs, streams = [acme.CUDAGraph(), acme.CUDAGraph()], [acme.Stream(), acme.Stream()]

    @contextlib.contextmanager
    def entered(which):
        with acme.stream(streams[which]):
            yield graphs[which]

    return entered


@pytest.mark.parametrize("ends_first", [0, 1])
def test_captures_that_overlap_leave_memory_as_it_was_before_both(two_captures, ends_first):
    x, y = torch.zeros(4, device="acme"), torch.zeros(4, device="acme")
    acme.synchronize()
    for which, written in (0, x), (1, y), (1, x), (0, y):
        with two_captures(which) as graph:
            if written is (x, y)[which]:
                graph.capture_begin()
            written.add_(1)
    for which in ends_first, 1 - ends_first:
        with two_captures(which) as graph:
            graph.capture_end()
    assert x.eq(0).all() and y.eq(0).all()
    for which in 0, 1:
        with two_captures(which) as graph:
            graph.replay()
            acme.synchronize()
    assert x.eq(2).all() and y.eq(2).all()


@pytest.mark.parametrize("ends_first", [0, 1])
def test_captures_that_overlap_draw_no_numbers(two_captures, ends_first):
    before = acme.get_rng_state()
    for which in 0, 1:
        with two_captures(which) as graph:
            graph.capture_begin()
            torch.rand(3, device="acme")
    for which in ends_first, 1 - ends_first:
        with two_captures(which) as graph:
            graph.capture_end()
    assert torch.equal(acme.get_rng_state(), before)


def test_no_operator_goes_to_the_recorder_once_a_guard_has_put_the_keys_back():
    x = torch.ones(4, device="acme")
    graph = acme.CUDAGraph()
    with acme.stream(acme.Stream()):
        graph.capture_begin()
        with torch.inference_mode():
            y = x + 1
            graph.capture_end()
    x.add_(2)  # notices it
    assert "CustomRNGKeyId" not in str(torch._C._dispatch_tls_local_include_set())
    graph.replay()
    assert y.eq(4).all()
