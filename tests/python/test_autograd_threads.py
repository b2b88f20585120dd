"""The thread of a backward pass: the caller's, or the device's own."""

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
            (threading.get_ident(), torch.acme.current_device(), torch.acme.current_stream())
        )
        return gradient, None


@pytest.mark.parametrize("device", [0, 1])
def test_backward_runs_on_the_tensors_device(two_devices, device):
    seen = []
    x = torch.ones(4, device=f"acme:{device}", requires_grad=True)
    Spy.apply(x, seen).sum().backward()
    [(thread, current, stream)] = seen
    # Its own thread for a device that computes by itself; where the CPU does, the caller's.
    computes_here = torch.acme.get_device_properties(device).is_host_addressable
    assert (thread == threading.get_ident()) == computes_here
    assert current == device
    assert stream == torch.acme.default_stream(device)
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
