"""Backward over streams: the cases that PyTorch tests for CUDA."""

import gc

import pytest
import torch
from torch.acme import Stream

pytestmark = pytest.mark.any_runtime

SIZE = 1 << 15


@pytest.fixture(autouse=True)
def streams_are_real(real_streams) -> None:
    """Without streams there is nothing to order."""


@pytest.fixture(autouse=True)
def no_warning_of_mismatch():
    torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    yield
    torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)


class MultiplyInStream(torch.autograd.Function):
    """Notes the stream of its backward, which is asynchronous where the runtime's copies are."""

    @staticmethod
    def forward(context, x, factor, seen):
        context.factor, context.seen = factor, seen
        context.stream = torch.acme.current_stream()
        return x * factor

    @staticmethod
    def backward(context, gradient):
        assert torch.acme.current_stream() == context.stream
        context.seen.append(torch.acme.current_stream())
        host = gradient.to("cpu", non_blocking=False).pin_memory()
        return host.to(gradient.device, non_blocking=True) * context.factor, None, None


def ones(device="acme") -> torch.Tensor:
    return torch.ones(SIZE, device=device, requires_grad=True)


def expect(tensor: torch.Tensor, value: float) -> None:
    assert torch.equal(tensor.cpu(), torch.full((SIZE,), value))


def test_streaming_backwards_sync():
    """A gradient that arrives on the caller's stream can be used there without waiting."""
    default, side = torch.acme.current_stream(), Stream()
    for _ in range(5):
        x, seen = ones(), []
        side.wait_stream(default)
        with torch.acme.stream(side):
            out = MultiplyInStream.apply(x, 3.0, seen)
            loss = out.sum()
        with torch.acme.stream(side):
            loss.backward()
        default.wait_stream(side)
        expect(x.grad, 3.0)
        assert seen == [side]


def test_backward_is_over_for_the_stream_that_called_it():
    """torch.cuda's promise: after backward(), the gradient is safe on the caller's stream."""
    side = Stream()
    for _ in range(5):
        x, seen = ones(), []
        side.wait_stream(torch.acme.current_stream())
        with torch.acme.stream(side):
            loss = MultiplyInStream.apply(x, 3.0, seen).sum()
        torch.acme.current_stream().wait_stream(side)
        loss.backward()
        expect(x.grad + 1, 4.0)


def test_consumer_producer_and_leaf_on_three_streams():
    """test_cuda.py: test_streaming_backwards_multiple_streams, and its side-stream producers."""
    producer, consumer, leaf_stream = Stream(), Stream(), Stream()
    for _ in range(5):
        seen = []
        with torch.acme.stream(leaf_stream):
            x = ones()
        producer.wait_stream(leaf_stream)
        x.record_stream(producer)
        with torch.acme.stream(producer):
            middle = MultiplyInStream.apply(x, 2.0, seen)
        consumer.wait_stream(producer)
        middle.record_stream(consumer)
        with torch.acme.stream(consumer):
            loss = MultiplyInStream.apply(middle, 5.0, seen).sum()
            loss.backward()
        torch.acme.current_stream().wait_stream(consumer)
        expect(x.grad, 10.0)
        assert seen == [consumer, producer]
        del middle, loss
        gc.collect()


def test_gradients_of_two_streams_meet_in_a_leaf():
    """test_cuda.py: test_streaming_backwards_multiple_streams."""
    first, second = Stream(), Stream()
    for _ in range(5):
        x, seen = ones(), []
        parts = []
        for factor, stream in ((2.0, first), (7.0, second)):
            stream.wait_stream(torch.acme.current_stream())
            with torch.acme.stream(stream):
                parts.append(MultiplyInStream.apply(x, factor, seen))
        for stream in (first, second):
            torch.acme.current_stream().wait_stream(stream)
        (parts[0] + parts[1]).sum().backward()
        expect(x.grad, 9.0)
        assert set(seen) == {first, second}


def test_gradients_accumulate_over_backwards_on_several_streams():
    x = ones()
    for step, stream in enumerate([Stream() for _ in range(4)], 1):
        stream.wait_stream(torch.acme.current_stream())
        with torch.acme.stream(stream):
            (x * 2).sum().backward()
        torch.acme.current_stream().wait_stream(stream)
        expect(x.grad, 2.0 * step)


def test_a_callback_runs_when_the_engine_is_done():
    """test_cuda.py: test_streaming_backwards_callback: on the stream that called backward()."""
    seen = []

    class Queues(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 1

        @staticmethod
        def backward(context, gradient):
            torch.autograd.Variable._execution_engine.queue_callback(
                lambda: seen.append(torch.acme.current_stream())
            )
            return gradient

    side, caller = Stream(), Stream()
    x = ones()
    side.wait_stream(torch.acme.current_stream())
    with torch.acme.stream(side):
        loss = Queues.apply(x).sum()
    caller.wait_stream(side)
    with torch.acme.stream(caller):
        loss.backward()
    assert seen == [caller]


def test_a_gradient_that_was_given_is_taken_from_the_callers_stream():
    caller, side = Stream(), Stream()
    x = ones()
    side.wait_stream(torch.acme.current_stream())
    with torch.acme.stream(side):
        out = x * 3
    caller.wait_stream(side)
    with torch.acme.stream(caller):
        given = torch.full((SIZE,), 2.0, pin_memory=True).to("acme", non_blocking=True)
        out.backward(given)
    torch.acme.current_stream().wait_stream(caller)
    expect(x.grad, 6.0)


def test_streams_of_two_devices(two_devices):
    """test_cuda.py: test_streaming_backwards_device_transfer."""
    here, there = Stream(0), Stream(1)
    for _ in range(5):
        seen = []
        a, b = ones("acme:0"), ones("acme:1")
        for stream in (here, there):
            stream.wait_stream(torch.acme.current_stream(stream.device))
        with torch.acme.stream(here):
            left = MultiplyInStream.apply(a, 2.0, seen)
        with torch.acme.stream(there):
            right = MultiplyInStream.apply(b, 3.0, seen)
        there.wait_stream(here)
        with torch.acme.stream(there):
            loss = (left.to("acme:1", non_blocking=True) * right).sum()
            loss.backward()
        torch.acme.synchronize(0)
        torch.acme.synchronize(1)
        expect(a.grad, 6.0)
        expect(b.grad, 6.0)
        assert set(seen) == {here, there}


def test_hooks_run_on_the_stream_of_the_gradient():
    seen = []
    side = Stream()
    x = ones()
    x.register_post_accumulate_grad_hook(lambda _: seen.append(torch.acme.current_stream()))
    side.wait_stream(torch.acme.current_stream())
    with torch.acme.stream(side):
        (x * 2).sum().backward()
    assert len(seen) == 1
    torch.acme.synchronize()
    expect(x.grad, 2.0)
