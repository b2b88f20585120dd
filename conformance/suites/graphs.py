"""Graphs: work that is captured once and replayed on the same memory."""

from __future__ import annotations

import copy
import gc
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..backend import Backend
from ..busy import keep_busy, streams_of
from ..check import Skipped, Unsupported, check, variants

BESIDE_THE_CPU = True

MEBIBYTE = 1 << 20


def graph_class(backend: Backend) -> Callable[[], object]:
    """The class of the module's graphs, or torch.accelerator's."""
    for name in (f"{backend.name.upper()}Graph", "CUDAGraph"):
        if hasattr(backend.module, name):
            return getattr(backend.module, name)
    if not hasattr(torch.accelerator, "Graph"):
        raise Unsupported(f"torch.{backend.name} has no class of graphs")
    return torch.accelerator.Graph


def new_graph(backend: Backend) -> Any:
    try:
        return graph_class(backend)()
    except RuntimeError as error:
        if "support" in str(error):
            raise Unsupported(f"no graphs: {error}") from error
        raise


def capture(backend: Backend, function: Callable[[], object], **options: object) -> tuple:
    """As captured; Unsupported where the backend says of an operator that it cannot be captured."""
    try:
        return captured(backend, function, **options)
    except RuntimeError as error:
        text = str(error).splitlines()[0]
        if "cannot be captured" in text or "not permitted when" in text:
            raise Unsupported(text) from error
        raise


def captured(backend: Backend, function: Callable[[], object], **options: object) -> tuple:
    """A graph of what the function does, captured on a new stream, and what it returned."""
    (stream,) = streams_of(backend, 1)
    graph = new_graph(backend)
    torch.accelerator.synchronize(backend.device)
    with stream:
        graph.capture_begin(**options)
        try:
            result = function()
        except BaseException:
            end_what_failed(graph)
            raise
        graph.capture_end()
    torch.accelerator.synchronize(backend.device)
    return graph, result


def end_what_failed(graph: Any) -> None:
    try:
        graph.capture_end()
    except RuntimeError as error:  # it says so, or why; the first error is the one that counts
        assert str(error)


def need_graphs(backend: Backend) -> None:
    """Unsupported where not even a copy can be captured. What is not about operators captures
    copies only, which a device without kernels of its own has as well."""
    x = torch.ones(4, device=backend.device)
    graph, y = capture(backend, x.clone)
    graph.replay()
    assert y.tolist() == [1] * 4


def works(backend: Backend) -> None:
    """The device and its default stream serve as ever."""
    x = torch.arange(4.0, device=backend.device)
    assert (x + x).tolist() == [0, 2, 4, 6]
    torch.accelerator.synchronize(backend.device)


@check(
    called_by="torch/cuda/graphs.py: capture_begin",
    without="captured programs compute once, and never again",
)
def replays_compute_on_new_inputs(backend: Backend) -> None:
    """A capture runs nothing, and each replay computes from what the inputs hold then."""
    need_graphs(backend)
    x = torch.ones(1000, device=backend.device)
    y = torch.zeros(1000, device=backend.device)

    def work() -> torch.Tensor:
        y.copy_(x)
        return y.clone()

    graph, z = capture(backend, work)
    assert y.eq(0).all(), "the capture has run what it captured"
    for value in (4.0, 5.0, 6.0):
        x.fill_(value)
        graph.replay()
        torch.accelerator.synchronize()
        assert y.eq(value).all() and z.eq(value).all(), f"{z[0].item()}, expected {value}"


OPERATORS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a sum": lambda x: x + x,
    "matrices": lambda x: (x @ x.t()).relu().softmax(1),
    "in place": lambda x: x.clone().mul_(2).add_(1).clamp_(0, 3),
    "views": lambda x: x[1:, ::2].t().reshape(-1)[:5] * 2,
    "a fill": lambda x: torch.zeros(3, device=x.device) + x[0, :3],
    "a conversion": lambda x: x.to(torch.float16).to(torch.int32),
    "a joining": lambda x: torch.cat([x, x.flip(0)], 1),
    "indices": lambda x: x[torch.arange(3, 0, -2, device=x.device)],
    "a reduction": lambda x: torch.stack([x.sum(), x.max(), x.std(), x.argmax().float()]),
    "a convolution": lambda x: torch.conv2d(x[None, None], x[None, None, :2, :2], x[0, :1]),
    "a norm": lambda x: nn.functional.layer_norm(x, (6,)),
    "attention": lambda x: nn.functional.scaled_dot_product_attention(
        x[None, None], x[None, None], x[None, None]
    ),
    "half precision": lambda x: (x.half() @ x.half().t()).float(),
    "foreach": lambda x: torch.stack(torch._foreach_add([x, x + 1], 2)),
    "a gradient": lambda x: torch.autograd.grad(
        (leaf := x.detach().requires_grad_()).tanh().sum(), leaf
    )[0],
}


def is_replayed_as_it_runs(
    backend: Backend, function: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """An operator gives in a replay what it gives when it is called."""
    need_graphs(backend)
    x = torch.randn(4, 6, device=backend.device)
    function(x)
    graph, result = capture(backend, lambda: function(x))
    for _ in range(2):
        fresh = torch.randn(4, 6)
        x.copy_(fresh)
        expected = function(fresh.to(backend.device))
        graph.replay()
        torch.accelerator.synchronize()
        torch.testing.assert_close(result, expected)


operators = variants(
    check(
        called_by="torch/cuda/graphs.py: replay",
        without="captured models give other results than models that run",
    )(is_replayed_as_it_runs),
    is_replayed_as_it_runs,
    {name: (function,) for name, function in OPERATORS.items()},
)


@check(
    called_by="torch/cuda/graphs.py: replay",
    without="replays overtake what they depend on",
)
def replays_follow_their_stream(backend: Backend) -> None:
    """A replay comes after what was on the current stream before it, and before what comes
    after."""
    need_graphs(backend)
    x, y, one, two = (
        torch.full((1 << 14,), value, device=backend.device) for value in (0.0, 0.0, 1.0, 2.0)
    )
    graph, _ = capture(backend, lambda: y.copy_(x))
    (stream,) = streams_of(backend, 1)
    stream.wait_stream(torch.accelerator.current_stream())
    with stream:
        for _ in range(5):
            keep_busy(backend, 5)
            x.copy_(one)
            graph.replay()
            first = y.clone()
            x.copy_(two)
            graph.replay()
            second = y.clone()
            x.zero_()
            stream.synchronize()
            assert first.eq(1).all() and second.eq(2).all()


@check(
    called_by="torch/cuda/graphs.py: pool",
    without="a replay writes into tensors of somebody else",
)
def the_memory_of_a_graph_is_its_own(backend: Backend) -> None:
    """What a capture allocated serves nobody else while the graph lives, also when the cache is
    emptied and when the tensors of the capture are gone."""
    need_graphs(backend)
    x = torch.ones(MEBIBYTE, device=backend.device)

    def work() -> torch.Tensor:
        first = x.clone()
        second = first.clone()
        del first
        return second.clone()

    graph, y = capture(backend, work)
    torch.accelerator.empty_cache()
    others = [torch.full((MEBIBYTE,), -1.0, device=backend.device) for _ in range(6)]
    x.fill_(4)
    graph.replay()
    torch.accelerator.synchronize()
    assert y.eq(4).all(), f"{y[0].item()}, expected 4"
    assert all(other.eq(-1).all() for other in others), "the replay wrote into other tensors"


@check(
    called_by="torch/cuda/graphs.py: reset",
    without="programs that capture anew run out of memory",
)
def a_graph_gives_its_memory_back(backend: Backend) -> None:
    """When a graph and its tensors are gone, so is their memory."""
    need_graphs(backend)
    x = torch.ones(4, device=backend.device)
    gc.collect()
    torch.accelerator.empty_cache()
    before = torch.accelerator.memory_reserved(backend.device)
    for _ in range(3):
        graph, y = capture(
            backend, lambda: (torch.zeros(8 * MEBIBYTE, device=backend.device), x.clone())
        )
        graph.replay()
        torch.accelerator.synchronize()
        del graph, y
    gc.collect()
    torch.accelerator.empty_cache()
    left = torch.accelerator.memory_reserved(backend.device) - before
    assert left < 32 * MEBIBYTE, f"{left} bytes are left of graphs that are gone"


@check(
    called_by="torch/cuda/graphs.py: capture_begin",
    without="graphs of one model take the memory of several",
)
def graphs_share_a_pool(backend: Backend) -> None:
    """A graph that is captured into the pool of another one reads what that one writes."""
    need_graphs(backend)
    x = torch.ones(1000, device=backend.device)
    first, y = capture(backend, x.clone)
    if graph_class(backend) is getattr(torch.accelerator, "Graph", None):
        raise Unsupported("torch.accelerator.Graph takes its pool when it is made")
    second, z = capture(backend, y.clone, pool=first.pool())
    assert tuple(second.pool()) == tuple(first.pool())
    x.fill_(4)
    first.replay()
    second.replay()
    torch.accelerator.synchronize()
    assert z.eq(4).all()


@check(
    called_by="torch/cuda/graphs.py: graph",
    without="one mistake in a capture means starting the program anew",
)
def an_error_in_a_capture_leaves_the_device_usable(backend: Backend) -> None:
    """After an exception inside a capture, the device computes, the stream is no longer captured,
    and another capture succeeds."""
    need_graphs(backend)
    x, y = torch.ones(4, device=backend.device), torch.zeros(4, device=backend.device)

    def fails() -> None:
        y.copy_(x)
        raise KeyError("mine")

    for _ in range(2):
        try:
            capture(backend, fails)
        except KeyError:
            works(backend)
        else:
            raise AssertionError("the error of the program was swallowed")
    assert y.tolist() == [0] * 4, "the capture that failed has run"
    graph, _ = capture(backend, lambda: y.copy_(x))
    graph.replay()
    assert y.tolist() == [1] * 4


REFUSED: dict[str, Callable[[torch.Tensor], object]] = {
    "a value": lambda x: x[0].item(),
    "a shape that depends on values": lambda x: x.nonzero(),
    "a copy to the CPU": lambda x: x.cpu(),
    "waiting for the stream": lambda x: torch.accelerator.current_stream().synchronize(),
}


def is_refused_in_a_capture(backend: Backend, call: Callable[[torch.Tensor], object]) -> None:
    """What needs a value on the host while it is captured is an error, and not a wrong number; the
    device serves as ever afterwards."""
    need_graphs(backend)
    x = torch.ones(4, device=backend.device)
    try:
        captured(backend, lambda: call(x))
    except RuntimeError as error:
        assert str(error)
    else:
        raise AssertionError("it was captured, and no replay can give what the host took")
    works(backend)


refusals = variants(
    check(
        called_by="torch/cuda/graphs.py: graph",
        without="graphs replay with numbers of the capture, and nobody is told",
    )(is_refused_in_a_capture),
    is_refused_in_a_capture,
    {name: (call,) for name, call in REFUSED.items()},
)


@check(
    called_by="torch/cuda/graphs.py: capture_begin",
    without="a capture on one device stops a program's work on all others",
)
def a_capture_does_not_stop_other_devices(backend: Backend) -> None:
    """While a stream of one device is captured, another device computes, allocates, gives memory
    back and is waited for, in the same thread and in others, and none of it is captured."""
    other = backend.other_device
    need_graphs(backend)
    x, far = torch.ones(100, device=backend.device), torch.ones(100, device=other)
    problems: list[BaseException] = []

    def work_there() -> None:
        try:
            with torch.accelerator.device_index(other.index):
                y = torch.full((1 << 20,), 2.0, device=other)
                assert (y * 2).eq(4).all()
                assert y[:3].tolist() == [2, 2, 2]
                assert torch.equal(torch.arange(3.0).to(other).cpu(), torch.arange(3.0))
                del y
                torch.accelerator.synchronize(other)
                torch.accelerator.empty_cache()
                reserved = torch.accelerator.memory_reserved(other)
                torch.empty(8 * MEBIBYTE, device=other)
                torch.accelerator.empty_cache()
                after = torch.accelerator.memory_reserved(other)
                assert after == reserved, f"{after - reserved} bytes of {other} are not given back"
                far.add_(1)
        except BaseException as error:
            problems.append(error)

    def both() -> torch.Tensor:
        y = x.clone()
        work_there()
        thread = threading.Thread(target=work_there)
        thread.start()
        thread.join()
        return y.clone()

    graph, y = capture(backend, both)
    if problems:
        raise problems[0]
    assert far.eq(3).all()
    x.fill_(4)
    graph.replay()
    torch.accelerator.synchronize(backend.device)
    assert y.eq(4).all()
    assert far.eq(3).all(), "the other device's work was captured"


@check(
    called_by="torch/include/c10/core/impl/DeviceGuardImplInterface.h: block",
    without="models that use several streams cannot be captured",
)
def streams_that_join_are_captured(backend: Backend) -> None:
    """Work of another stream that waits for the captured one, and is waited for, is a part of the
    graph."""
    need_graphs(backend)
    x = torch.ones(1000, device=backend.device)
    (other,) = streams_of(backend, 1)

    def fork_and_join() -> torch.Tensor:
        here = torch.accelerator.current_stream()
        other.wait_stream(here)
        with other:
            y = x.clone()
        here.wait_stream(other)
        return y.clone()

    graph, result = capture(backend, fork_and_join)
    x.fill_(4)
    graph.replay()
    torch.accelerator.synchronize()
    assert result.eq(4).all()


@check(
    called_by="torch/cuda/graphs.py: is_current_stream_capturing",
    without="optimizers and libraries do not see that they are captured",
)
def a_stream_knows_that_it_is_captured(backend: Backend) -> None:
    """torch.Stream.is_capturing() and is_current_stream_capturing() are true inside a capture and
    false outside."""
    need_graphs(backend)
    asked: list[Callable[[], bool]] = []
    if hasattr(torch.Stream, "is_capturing"):
        asked.append(lambda: torch.accelerator.current_stream().is_capturing())
    if hasattr(backend.module, "is_current_stream_capturing"):
        asked.append(backend.module.is_current_stream_capturing)
    if not asked:
        raise Unsupported("neither torch.Stream nor the module can be asked")
    x = torch.ones(3, device=backend.device)

    def ask() -> list[bool]:
        x.zero_()
        return [call() for call in asked]

    assert [call() for call in asked] == [False] * len(asked)
    _, inside = capture(backend, ask)
    assert inside == [True] * len(asked)
    assert [call() for call in asked] == [False] * len(asked)


@check(
    called_by="torch/include/c10/core/GeneratorImpl.h: graphsafe_set_state",
    without="dropout drops the same elements in every step",
)
def replays_draw_new_numbers(backend: Backend) -> None:
    """Each replay draws other random numbers, a seed gives the same ones again, and a capture draws
    none."""
    need_graphs(backend)
    seed = backend.need("manual_seed")
    state = backend.need("get_rng_state")
    seed(1)
    before = state()
    graph, numbers = capture(backend, lambda: torch.rand(50, device=backend.device))
    assert torch.equal(state(), before), "the capture has drawn numbers"
    runs = []
    for _ in range(2):
        seed(42)
        drawn = []
        for _ in range(3):
            graph.replay()
            torch.accelerator.synchronize()
            drawn.append(numbers.cpu())
        runs.append(drawn)
    assert not torch.equal(runs[0][0], runs[0][1]), "two replays drew the same numbers"
    assert not torch.equal(runs[0][1], runs[0][2]), "two replays drew the same numbers"
    for first, second in zip(*runs, strict=True):
        assert torch.equal(first, second), "one seed gave two sequences"
    assert all(0 <= number < 1 for number in runs[0][0].tolist())


@check(
    called_by="torch/accelerator/graphs.py: Graph",
    without="programs written for torch.accelerator cannot capture",
)
def the_accelerators_graph_captures(backend: Backend) -> None:
    """torch.accelerator.Graph captures as a context, replays, and is reset."""
    if not hasattr(torch.accelerator, "Graph"):
        raise Skipped("torch.accelerator.Graph comes with torch 2.12")
    need_graphs(backend)
    x, y = torch.ones(100, device=backend.device), torch.zeros(100, device=backend.device)
    graph = torch.accelerator.Graph()
    (stream,) = streams_of(backend, 1)
    torch.accelerator.synchronize()
    with stream, graph:
        y.copy_(x)
    assert y.eq(0).all(), "the capture has run what it captured"
    for value in (1, 2):
        x.fill_(value)
        graph.replay()
        torch.accelerator.synchronize()
        assert y.eq(value).all()
    graph.reset()
    try:
        graph.replay()
    except RuntimeError:
        works(backend)
    else:
        raise AssertionError("a graph that was reset was replayed")


def need_captures_of_training(backend: Backend, net: nn.Module) -> None:
    """Unsupported where an operator of forward or backward cannot be captured."""
    x = torch.randn(4, 6, device=backend.device)
    parameters = list(net.parameters())
    capture(backend, lambda: torch.autograd.grad(net(x).sum(), parameters))


@check(
    called_by="torch/cuda/graphs.py: make_graphed_callables",
    without="models cannot be sped up with graphs without changes",
)
def graphed_callables_train_as_before(backend: Backend) -> None:
    """What make_graphed_callables returns has the results and the gradients of the module."""
    make = backend.need("make_graphed_callables")
    need_graphs(backend)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).to(backend.device)
    twin = copy.deepcopy(net)
    need_captures_of_training(backend, net)
    graphed = make(net, (torch.randn(4, 6, device=backend.device, requires_grad=True),))
    for _ in range(2):
        x = torch.randn(4, 6, device=backend.device)
        for module in (graphed, twin):
            module.zero_grad()
            module(x).square().sum().backward()
        # First: the graphs share their memory, so the next forward may write over gradients.
        for ours, theirs in zip(net.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, theirs.grad)
        torch.testing.assert_close(graphed(x), twin(x))


@check(
    called_by="torch/optim/optimizer.py: _get_capturable_supported_devices",
    without="a training step cannot be captured as a whole",
    level="standard",
)
def a_training_step_is_captured_as_a_whole(backend: Backend) -> None:
    """Replays of forward, backward and optimizer train as the same steps without a graph."""
    need_graphs(backend)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)).to(backend.device)
    twin = copy.deepcopy(net)
    data = [(torch.randn(4, 6), torch.randn(4, 2)) for _ in range(4)]
    x, y = (part.to(backend.device) for part in data[0])

    def step(module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad(set_to_none=False)
        nn.functional.mse_loss(module(x), y).backward()
        optimizer.step()

    ours = torch.optim.SGD(net.parameters(), lr=0.1)
    theirs = torch.optim.SGD(twin.parameters(), lr=0.1)
    for module, optimizer in ((net, ours), (twin, theirs)):
        step(module, optimizer)
    torch.accelerator.synchronize()
    for parameter in net.parameters():  # those of the capture's own memory
        parameter.grad = torch.zeros_like(parameter)
    graph, _ = capture(backend, lambda: step(net, ours))
    for a, b in data:
        x.copy_(a)
        y.copy_(b)
        graph.replay()
        torch.accelerator.synchronize()
        step(twin, theirs)
        for left, right in zip(net.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(left, right)
