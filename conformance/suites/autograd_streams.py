"""Autograd: which device, stream and thread a backward uses, and that it is ordered."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from ..backend import Backend
from ..busy import default_stream, keep_busy, streams_of
from ..check import check

BESIDE_THE_CPU = True

SIZE = 1 << 14


class Spy(torch.autograd.Function):
    """Notes where its backward runs, which puts work on its stream before it reads the gradient."""

    @staticmethod
    def forward(context, x, factor, backend, seen):
        context.factor, context.backend, context.seen = factor, backend, seen
        return x * factor

    @staticmethod
    def backward(context, gradient):
        context.seen.append(
            (torch.accelerator.current_device_index(), torch.accelerator.current_stream())
        )
        keep_busy(context.backend, 10)
        late = torch.empty_like(gradient).copy_(gradient)
        return late * context.factor, None, None, None


@contextlib.contextmanager
def no_warning_of_streams() -> Iterator[None]:
    """A leaf of another stream is what these checks are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def ones(device: torch.device) -> torch.Tensor:
    return torch.ones(SIZE, device=device, requires_grad=True)


def holds(tensor: torch.Tensor | None, value: float) -> None:
    assert tensor is not None, "there is no gradient"
    seen = tensor.detach().cpu()
    assert seen.eq(value).all(), f"expected {value} everywhere, got {sorted(set(seen.tolist()))}"


# ---- where it runs


@check(
    called_by="torch/include/torch/csrc/autograd/engine.h: Engine",
    without="backward passes compute on the wrong device",
)
def a_backward_runs_on_its_device(backend: Backend) -> None:
    """A backward has its tensor's device as the current one, on each device, and leaves the
    caller's as it is."""
    for index in range(backend.count):
        device = torch.device(backend.name, index)
        seen: list = []
        x = ones(device)
        Spy.apply(x, 3.0, Backend(device), seen).sum().backward()
        assert [at for at, _ in seen] == [index], f"on device {seen[0][0]} instead of {index}"
        assert torch.accelerator.current_device_index() == backend.device.index
        assert x.grad.device == device
        holds(x.grad, 3)


@check(
    called_by="torch/include/torch/csrc/autograd/input_metadata.h: InputMetadata",
    without="gradients are computed on streams that wait for nothing",
)
def a_backward_runs_on_the_streams_of_the_forward(backend: Backend) -> None:
    """Each operator's backward runs on the stream of its forward, whichever one is current when
    backward() is called."""
    first, second = streams_of(backend, 2)
    here = torch.accelerator.current_stream()
    for _ in range(3):
        x = ones(backend.device)
        seen: list = []
        first.wait_stream(here)
        with no_warning_of_streams():
            with first:
                y = Spy.apply(x, 2.0, backend, seen)
            second.wait_stream(first)
            with second:
                loss = Spy.apply(y, 5.0, backend, seen).sum()
            here.wait_stream(second)
            loss.backward()
        assert [stream for _, stream in seen] == [second, first], f"on {seen}"
        holds(x.grad, 10)
        assert torch.accelerator.current_stream() == here
    if backend.count > 1:
        runs_on_the_streams_of_two_devices(backend)


def runs_on_the_streams_of_two_devices(backend: Backend) -> None:
    """Each device's part of a backward runs on the stream of its forward, and waits for the other
    device's."""
    other = backend.other_device
    (here,), (there,) = streams_of(backend, 1), streams_of(backend, 1, other)
    for _ in range(3):
        seen: list = []
        x, y = ones(backend.device), ones(other)
        for stream in (here, there):
            stream.wait_stream(torch.accelerator.current_stream(stream.device))
        with no_warning_of_streams():
            with here:
                left = Spy.apply(x, 2.0, backend, seen)
            with there:
                right = Spy.apply(y, 3.0, Backend(other), seen)
            there.wait_stream(here)
            with there:
                (left.to(other, non_blocking=True) * right).sum().backward()
        torch.accelerator.synchronize(backend.device)
        torch.accelerator.synchronize(other)
        holds(x.grad, 6)
        holds(y.grad, 6)
        assert {stream for _, stream in seen} == {here, there}, f"on {seen}"


@check(
    called_by="torch/include/torch/csrc/autograd/input_buffer.h: accumulate",
    without="gradients miss a part, now and then",
)
def gradients_of_several_streams_meet(backend: Backend) -> None:
    """Gradients that come from several streams are summed when all are there, and the sum may be
    used on the stream that called backward()."""
    streams = streams_of(backend, 3)
    here = torch.accelerator.current_stream()
    for _ in range(3):
        x = ones(backend.device)
        seen: list = []
        parts: list = []
        with no_warning_of_streams():
            for factor, stream in enumerate(streams, 1):
                stream.wait_stream(here)
                with stream:
                    parts.append(Spy.apply(x, float(factor), backend, seen))
            for stream in streams:
                here.wait_stream(stream)
            sum(parts).sum().backward()
        assert x.grad is not None
        holds(x.grad + 1, 7)
        assert {stream for _, stream in seen} == set(streams)


@check(
    called_by="torch/include/torch/csrc/autograd/engine.h: Engine",
    without="an optimizer reads gradients that are not there yet",
)
def gradients_are_there_for_the_caller(backend: Backend) -> None:
    """After backward(), a gradient may be used on the caller's stream without waiting, whatever
    stream it was computed on."""
    side, caller = streams_of(backend, 2)
    for _ in range(3):
        x = ones(backend.device)
        seen: list = []
        with no_warning_of_streams():
            side.wait_stream(torch.accelerator.current_stream())
            with side:
                loss = Spy.apply(x, 3.0, backend, seen).sum()
            caller.wait_stream(side)
            with caller:
                loss.backward()
                assert x.grad is not None
                copied = torch.empty_like(x).copy_(x.grad)
                holds(copied, 3)
        assert seen[0][1] == side


@check(
    called_by="torch/include/torch/csrc/autograd/functions/accumulate_grad.h: AccumulateGrad",
    without="gradient accumulation loses a step",
)
def gradients_accumulate_over_streams(backend: Backend) -> None:
    """Backward passes one after the other, each on its own stream, add up."""
    x = ones(backend.device)
    here = torch.accelerator.current_stream()
    with no_warning_of_streams():
        for step, stream in enumerate(streams_of(backend, 4), 1):
            stream.wait_stream(here)
            with stream:
                keep_busy(backend, 5)
                (x * 2).sum().backward()
            here.wait_stream(stream)
            holds(x.grad, 2 * step)


@check(
    called_by="torch/include/torch/csrc/autograd/engine.h: queue_callback",
    without="DistributedDataParallel finishes its step on the wrong stream",
)
def hooks_and_callbacks_have_their_stream(backend: Backend) -> None:
    """A gradient's hook runs on the gradient's stream, and a callback of the engine's on the
    caller's."""
    side, caller = streams_of(backend, 2)
    hooks: list[torch.Stream] = []
    callbacks: list[torch.Stream] = []

    def hook(gradient: torch.Tensor) -> torch.Tensor:
        hooks.append(torch.accelerator.current_stream())
        torch.autograd.Variable._execution_engine.queue_callback(
            lambda: callbacks.append(torch.accelerator.current_stream())
        )
        return gradient * 2

    x = ones(backend.device)
    torch.accelerator.synchronize()
    with no_warning_of_streams():
        with side:
            middle = x * 1
            middle.register_hook(hook)
            loss = (middle * 3).sum()
        caller.wait_stream(side)
        with caller:
            loss.backward()
            holds(x.grad, 6)
    assert hooks == [side], f"the hook ran on {hooks}"
    assert callbacks == [caller], f"the callback ran on {callbacks}"


@check(
    called_by="torch/include/torch/csrc/autograd/engine.h: Engine",
    without="a gradient that is passed to backward() is read before it is written",
)
def a_gradient_that_is_given_is_waited_for(backend: Backend) -> None:
    """backward(gradient) on another stream than the forward's reads what the caller's stream has
    written."""
    caller, side = streams_of(backend, 2)
    five = torch.full((SIZE,), 5.0, device=backend.device)
    for _ in range(3):
        x = ones(backend.device)
        torch.accelerator.synchronize()
        with no_warning_of_streams():
            with side:
                out = x * 3
            caller.wait_stream(side)
            with caller:
                given = torch.zeros(SIZE, device=backend.device)
                keep_busy(backend, 20)
                given.copy_(five)
                out.backward(given)
                holds(x.grad, 15)


@check(
    called_by="torch/include/torch/csrc/autograd/functions/tensor.h: CopyBackwards",
    without="models that are split over devices get wrong gradients",
)
def a_backward_goes_over_devices(backend: Backend) -> None:
    """A graph over two devices has its gradients on their own devices, computed there."""
    other = backend.other_device
    here: list = []
    there: list = []
    x = ones(backend.device)
    y = ones(other)
    middle = Spy.apply(x, 2.0, backend, here).to(other)
    out = Spy.apply(middle * y, 5.0, Backend(other), there)
    out.sum().to(backend.device).backward()
    assert [at for at, _ in here] == [backend.device.index]
    assert [at for at, _ in there] == [other.index]
    assert x.grad.device == backend.device and y.grad.device == other
    holds(x.grad, 10)
    holds(y.grad, 10)
    assert torch.accelerator.current_device_index() == backend.device.index


@check(
    called_by="torch/include/torch/csrc/autograd/functions/tensor.h: CopyBackwards",
    without="models that are split between CPU and device get wrong gradients",
)
def a_backward_goes_over_the_cpu(backend: Backend) -> None:
    """A graph from the CPU to the device and back has its gradients on the tensors' own
    devices."""
    x = torch.ones(SIZE, requires_grad=True)
    y = ones(backend.device)
    seen: list = []
    ((Spy.apply(x.to(backend.device) * y, 2.0, backend, seen)).cpu() * 3).sum().backward()
    assert x.grad.device.type == "cpu" and y.grad.device == backend.device
    holds(x.grad, 6)
    holds(y.grad, 6)


@check(
    called_by="torch/include/torch/csrc/autograd/engine.h: Engine",
    without="training in several threads gives wrong gradients, or hangs",
)
def threads_have_backward_passes_of_their_own(backend: Backend) -> None:
    """Backward passes from several threads, on all devices at once, each have the right
    gradients."""
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            device = torch.device(backend.name, number % backend.count)
            torch.accelerator.set_device_index(device.index)
            for step in range(8):
                x = ones(device)
                seen: list = []
                Spy.apply(x, float(number + step), Backend(device), seen).sum().backward()
                assert seen[0][0] == device.index == torch.accelerator.current_device_index()
                holds(x.grad, number + step)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "a backward pass does not end"
    if problems:
        raise problems[0]


@check(
    called_by="torch/include/torch/csrc/autograd/engine.h: Engine",
    without="a graph cannot be used by another thread than its maker's",
)
def a_backward_may_be_called_from_another_thread(backend: Backend) -> None:
    """A graph that one thread made is differentiated by another one."""
    x = ones(backend.device)
    seen: list = []
    loss = Spy.apply(x, 4.0, backend, seen).sum()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join(30)
    assert not thread.is_alive(), "the backward pass does not end"
    holds(x.grad, 4)
    assert seen[0] == (backend.device.index, default_stream(backend))


# ---- modes of autograd


@check(
    called_by="torch/utils/checkpoint.py: checkpoint",
    without="checkpointed models get gradients of other dropout masks than they were run with",
)
def checkpointing_replays_the_random_numbers(backend: Backend) -> None:
    """torch.utils.checkpoint computes the forward again with the same random numbers, in both of
    its forms, and leaves the generator where it would be without it."""
    backend.need("get_rng_state")

    def block(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x * 2, 0.5, training=True) * x

    results = {}
    for how in ("plain", "reentrant", "not reentrant"):
        torch.manual_seed(7)
        x = torch.full((256,), 2.0, device=backend.device, requires_grad=True)
        if how == "plain":
            y = block(x)
        else:
            y = checkpoint(block, x, use_reentrant=how == "reentrant", preserve_rng_state=True)
        after = torch.rand(4, device=backend.device)
        y.sum().backward()
        results[how] = (y.detach().cpu(), x.grad.cpu(), after.cpu())
    y, gradient, _ = results["plain"]
    assert 64 < y.eq(0).sum() < 192, f"dropout took {y.eq(0).sum()} of 256 away"
    assert gradient.eq(y / 2 * 2).all(), "the gradient's mask is not the forward's"
    for how in ("reentrant", "not reentrant"):
        for ours, plain in zip(results[how], results["plain"], strict=True):
            assert torch.equal(ours, plain), (
                f"{how}: not what the block gives without checkpointing"
            )


@check(
    called_by="torch/autograd/anomaly_mode.py: detect_anomaly",
    without="nobody finds where a NaN came from",
)
def anomalies_are_detected(backend: Backend) -> None:
    """With detect_anomaly a backward that makes a NaN raises, and one that does not is the same as
    without."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            x = ones(backend.device)
            (x * 3).sum().backward()
            holds(x.grad, 3)
            x = torch.zeros(3, device=backend.device, requires_grad=True)
            try:
                (x.sqrt() * 0).sum().backward()
            except RuntimeError as error:
                assert "nan" in str(error).lower() and "Sqrt" in str(error), error
            else:
                raise AssertionError("a backward made NaN, and nobody said so")


@check(
    called_by="torch/autograd/gradcheck.py: gradgradcheck",
    without="second derivatives are wrong",
)
def gradients_of_gradients_are_right(backend: Backend) -> None:
    """gradcheck and gradgradcheck accept a few operators on the device, in double precision where
    it has that."""
    precise = backend.has(torch.float64)
    dtype = torch.float64 if precise else torch.float32
    how: dict[str, Any] = {} if precise else {"eps": 1e-2, "atol": 1e-2, "rtol": 1e-2}
    x = torch.rand(3, 4, dtype=dtype, device=backend.device) + 0.5
    x.requires_grad_()
    for function in (
        lambda x: (x * x).tanh(),
        lambda x: x @ x.t(),
        lambda x: x.log_softmax(1)[:, 1:],
    ):
        with warnings.catch_warnings():
            if not precise:
                warnings.simplefilter("ignore")  # that it is not
            assert torch.autograd.gradcheck(function, (x,), **how)
            assert torch.autograd.gradgradcheck(function, (x,), **how)


@check(
    called_by="torch/autograd/forward_ad.py: make_dual",
    without="forward-mode derivatives fail",
)
def forward_mode_is_there(backend: Backend) -> None:
    """Dual tensors carry their tangents on the device."""
    x = torch.tensor([1.0, 2.0, 3.0], device=backend.device)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        primal, tangent = torch.autograd.forward_ad.unpack_dual(dual * dual)
    assert tangent.device == backend.device
    assert primal.tolist() == [1, 4, 9] and tangent.tolist() == [2, 4, 6]


@check(
    called_by="torch/autograd/graph.py: save_on_cpu",
    without="models that save their activations on the CPU fail",
)
def saved_tensors_may_be_on_the_cpu(backend: Backend) -> None:
    """save_on_cpu keeps what backward needs on the CPU and brings it back with its values."""
    for pin in (False, True):
        x = torch.full((64,), 3.0, device=backend.device, requires_grad=True)
        with torch.autograd.graph.save_on_cpu(pin_memory=pin, device_type=backend.name):
            y = (x * x) * x
        y.sum().backward()
        holds(x.grad, 27)


@check(
    called_by="torch/autograd/graph.py: saved_tensors_hooks",
    without="a change after the forward gives wrong gradients without a word",
)
def a_tensor_that_backward_needs_may_not_change(backend: Backend) -> None:
    """Writing into what backward needs is an error in backward(), and into what a view shares
    too."""
    for change in (lambda y: y.add_(1), lambda y: y[0].zero_(), lambda y: y.copy_(y * 2)):
        x = torch.ones(3, device=backend.device, requires_grad=True)
        y = x.exp()
        z = (y * y).sum()
        with torch.no_grad():
            change(y)
        try:
            z.backward()
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error), error
        else:
            raise AssertionError("backward used numbers that were overwritten")


@check(
    called_by="torch/include/torch/csrc/autograd/variable.h: requires_grad",
    without="results that should be trained are constants, or the other way round",
)
def results_require_gradients_as_on_the_cpu(backend: Backend) -> None:
    """Whether a result requires a gradient, is a leaf and is a view is what it is on the CPU, in
    each mode."""
    calls = {
        "x * 2": lambda x: x * 2,
        "x[1:]": lambda x: x[1:],
        "x.t()": lambda x: x.t(),
        "x.detach()": lambda x: x.detach(),
        "x.to(its device)": lambda x: x.to(x.device),
        "x.clone()": lambda x: x.clone(),
        "x.reshape(-1)": lambda x: x.reshape(-1),
        "x.contiguous()": lambda x: x.contiguous(),
        "x > 0": lambda x: x > 0,
        "x.data": lambda x: x.data,
        "alias": lambda x: torch.ops.aten.alias(x),
        "Parameter": lambda x: torch.nn.Parameter(x.detach()),
        "zeros_like": torch.zeros_like,
        "out of in place": lambda x: torch.zeros(2, 2, device=x.device).add_(x),
    }
    modes = {
        "grad": contextlib.nullcontext,
        "no_grad": torch.no_grad,
        "inference": torch.inference_mode,
    }
    differ = []
    for mode, context in modes.items():
        for name, call in calls.items():
            facts = []
            for device in ("cpu", backend.device):
                x = torch.ones(2, 2, device=device, requires_grad=True)
                with context():
                    y = call(x)
                facts.append((y.requires_grad, y.is_leaf, y._is_view(), y.is_inference()))
            if facts[0] != facts[1]:
                differ.append(f"{name} with {mode}: {facts[1]} instead of {facts[0]}")
    assert not differ, "; ".join(differ)
