"""What torch.compile and torch.export believe of a result is what the device returns."""

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode

pytestmark = pytest.mark.turns_on_memory

LAST, LAST_3D = torch.channels_last, torch.channels_last_3d
PLAIN = torch.contiguous_format


def ones(*shape, format=PLAIN):
    return torch.ones(shape).contiguous(memory_format=format)


def backward(grad, x, weight):
    outputs = [True, True, False]
    rest = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1, outputs)
    return torch.ops.aten.convolution_backward(grad, x, weight, None, *rest)


CALLS = {
    "conv1d": (F.conv1d, ones(2, 3, 8), ones(4, 3, 3)),
    "conv2d": (F.conv2d, ones(2, 3, 8, 8), ones(4, 3, 3, 3)),
    "conv2d, both": (F.conv2d, ones(2, 3, 8, 8, format=LAST), ones(4, 3, 3, 3, format=LAST)),
    "conv2d, input": (F.conv2d, ones(2, 3, 8, 8, format=LAST), ones(4, 3, 3, 3)),
    "conv2d, weight": (F.conv2d, ones(2, 3, 8, 8), ones(4, 3, 3, 3, format=LAST)),
    "conv2d, not a batch": (F.conv2d, ones(3, 8, 8), ones(4, 3, 3, 3, format=LAST)),
    "conv2d of half": (F.conv2d, ones(2, 3, 8, 8, format=LAST).half(), ones(4, 3, 3, 3).half()),
    "conv2d, integers": (F.conv2d, ones(2, 3, 8, 8, format=LAST).long(), ones(4, 3, 3, 3).long()),
    "conv3d": (F.conv3d, ones(2, 3, 8, 8, 8, format=LAST_3D), ones(4, 3, 3, 3, 3)),
    "transposed": (F.conv_transpose2d, ones(2, 3, 8, 8, format=LAST), ones(3, 4, 3, 3)),
    "backward": (
        *(backward, ones(2, 4, 8, 8, format=LAST), ones(2, 3, 8, 8, format=LAST)),
        ones(4, 3, 3, 3, format=LAST),
    ),
    "backward, weight": (
        *(backward, ones(2, 4, 8, 8, format=LAST), ones(2, 3, 8, 8)),
        ones(4, 3, 3, 3, format=LAST),
    ),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), ones(2, 8, 4, 4, format=LAST)),
    "rfft": (torch.fft.rfft2, ones(2, 4, 4).transpose(0, 1)),
    "svd": (lambda x: torch.linalg.svd(x, full_matrices=False), ones(2, 4, 3)),
}


def described(results):
    flat = [it for it in torch.utils._pytree.tree_leaves(results) if it is not None]
    return [(it.device, is_autocast_here(it), it.dtype, it.shape, it.stride()) for it in flat]


def is_autocast_here(tensor) -> bool:
    """Whether torch.autocast of the device applies to operators that get the tensor."""
    return torch._C._dispatch_keys(tensor).has(torch._C.DispatchKey.AutocastPrivateUse1)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_fake_result_is_laid_out_as_the_real_one(call):
    function, *tensors = call
    tensors = [tensor.acme() for tensor in tensors]
    with FakeTensorMode() as mode:
        fake = function(*map(mode.from_tensor, tensors))
    assert described(fake) == described(function(*tensors))


def test_other_devices_are_believed_what_they_were():
    x, weight = ones(2, 3, 8, 8, format=LAST), ones(4, 3, 3, 3)
    with FakeTensorMode() as mode:
        fake = F.conv2d(mode.from_tensor(x), mode.from_tensor(weight))
    assert described(fake) == described(F.conv2d(x, weight))


def test_a_compiled_network_in_channels_last_trains():
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 2, 1)
    )
    network = network.acme().to(memory_format=LAST)
    x = torch.randn(2, 3, 8, 8).acme().to(memory_format=LAST)

    def loss():  # the strides decide whether this is a view
        return network(x).permute(0, 2, 3, 1).view(-1, 2).square().sum()

    parameters = list(network.parameters())
    eager = torch.autograd.grad(loss(), parameters)
    compiled = torch.autograd.grad(torch.compile(loss, backend="aot_eager")(), parameters)
    torch.testing.assert_close(compiled, eager, rtol=0, atol=0)


def test_a_convolution_is_exported():
    convolution = torch.nn.Conv2d(3, 4, 3).acme().to(memory_format=LAST)
    x = torch.randn(2, 3, 8, 8).acme().to(memory_format=LAST)
    exported = torch.export.export(convolution, (x,)).run_decompositions()
    assert described(exported.module()(x)) == described(convolution(x))
