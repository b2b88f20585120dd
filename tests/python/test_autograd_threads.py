"""The thread of a backward pass, and the current device and stream in it."""

import threading

import pytest
import torch

pytestmark = [pytest.mark.turns_on_groups, pytest.mark.turns_on_driver]


class Spy(torch.autograd.Function):
    """Notes where its backward runs."""

    @staticmethod
    def forward(context, x, seen):
        context.seen = seen
        return x * 1

    @staticmethod
    def backward(context, gradient):
        context.seen.append(
            (
                threading.get_ident(),
                torch.acme.current_device(),
                torch.acme.current_stream(),
                torch.empty(1, device="acme").device,
            )
        )
        return gradient, None


@pytest.mark.parametrize("device", [0, 1])
def test_backward_runs_on_the_tensors_device(two_devices, device):
    seen = []
    x = torch.ones(4, device=f"acme:{device}", requires_grad=True)
    Spy.apply(x, seen).sum().backward()
    [(thread, current, stream, made_on)] = seen
    # Its own thread for a device that computes by itself; where the CPU does, the caller's.
    computes_here = torch.acme.get_device_properties(device).is_host_addressable
    assert (thread == threading.get_ident()) == computes_here
    assert current == device
    assert stream == torch.acme.default_stream(device)
    assert made_on.index == device
    assert torch.acme.current_device() == 0


def test_a_program_may_ask_for_the_threads_of_devices():
    seen = []
    x = torch.ones(4, device="acme", requires_grad=True)
    x.sum().backward()
    was = torch._C._is_multithreading_enabled()
    with torch.autograd.set_multithreading_enabled(True):
        Spy.apply(x, seen).sum().backward()
        assert torch._C._is_multithreading_enabled()
    assert torch._C._is_multithreading_enabled() == was
    [(thread, *_)] = seen
    assert thread != threading.get_ident()


@pytest.mark.parametrize("device", [0, 1])
def test_backward_runs_on_the_forwards_stream(two_devices, real_streams, device):
    seen = []
    stream = torch.acme.Stream(device)
    x = torch.ones(4, device=f"acme:{device}", requires_grad=True)
    stream.wait_stream(torch.acme.current_stream(device))
    with torch.acme.stream(stream):
        loss = Spy.apply(x, seen).sum()
    torch.acme.current_stream(device).wait_stream(stream)
    loss.backward()
    [(_, current, used, _)] = seen
    assert (current, used) == (device, stream)
    assert torch.acme.current_stream(device) == torch.acme.default_stream(device)
    assert torch.equal(x.grad.cpu(), torch.ones(4))


def test_one_backward_over_two_devices(two_devices):
    first, second = [], []
    x = torch.ones(4, device="acme:0", requires_grad=True)
    y = Spy.apply(Spy.apply(x, first).acme(1), second)
    y.sum().backward()
    assert first[0][1] == 0 and second[0][1] == 1
    assert torch.equal(x.grad.cpu(), torch.ones(4))
    assert x.grad.device.index == 0


def test_backward_on_several_streams_is_ordered(real_streams):
    streams = [torch.acme.Stream() for _ in range(3)]
    for _ in range(20):
        x = torch.ones(1 << 14, device="acme", requires_grad=True)
        parts = []
        for factor, stream in enumerate(streams, 1):
            stream.wait_stream(torch.acme.current_stream())
            with torch.acme.stream(stream):
                parts.append((x * factor).sum())
        for stream in streams:
            torch.acme.current_stream().wait_stream(stream)
        sum(parts).backward()
        assert torch.equal(x.grad.cpu(), torch.full((1 << 14,), 6.0))


def test_backward_from_many_python_threads(two_devices):
    errors = []

    def work(device: int) -> None:
        try:
            torch.acme.set_device(device)
            for _ in range(10):
                seen = []
                x = torch.ones(8, device="acme", requires_grad=True)
                Spy.apply(x, seen).sum().backward()
                assert seen[0][1] == device == x.grad.device.index
                assert torch.acme.current_device() == device
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
