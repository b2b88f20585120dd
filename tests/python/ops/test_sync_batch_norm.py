"""The operators of SyncBatchNorm, over a batch in two parts: what batch_norm gives for the whole.
The CPU has none of them."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

EPS = 1e-5
MOMENTUM = 0.1
CHANNELS = 3
# Of the results and of the statistics, which have more digits where the input has 16 bits.
TOLERANCES = {
    torch.float32: (1e-5, 1e-6),
    torch.float64: (1e-12, 1e-12),
    torch.float16: (5e-3, 1e-6),
    torch.bfloat16: (4e-2, 1e-6),
}
SHAPES = {"rows": (6, CHANNELS), "signals": (5, CHANNELS, 4), "images": (3, CHANNELS, 4, 2)}


def exact(x, weight, bias, gradient):
    """In float64: the result, the gradients, and the running statistics."""
    leaves = [it.double().requires_grad_() for it in (x, weight, bias)]
    running = torch.zeros(CHANNELS).double(), torch.ones(CHANNELS).double()
    result = torch.nn.functional.batch_norm(
        leaves[0], *running, *leaves[1:], training=True, momentum=MOMENTUM, eps=EPS
    )
    result.backward(gradient.double())
    return [result.detach(), *(it.grad for it in leaves)], running


def in_parts(x, weight, bias, gradient, device="acme"):
    """The same, from the statistics of the first row of the batch and of the others."""
    x, weight, bias, gradient = (it.to(device) for it in (x, weight, bias, gradient))
    parts = x[:1], x[1:]
    means, invstds = map(
        torch.stack, zip(*(torch.batch_norm_stats(it, EPS) for it in parts), strict=True)
    )
    counts = torch.tensor([float(it.numel() // CHANNELS) for it in parts], device=device)
    kind = {"dtype": means.dtype, "device": device}
    running = torch.zeros(CHANNELS, **kind), torch.ones(CHANNELS, **kind)
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        x, means, invstds, *running, MOMENTUM, EPS, counts
    )
    result = torch.batch_norm_elemt(x, weight, bias, mean, invstd, EPS)
    total, product, of_weight, of_bias = torch.batch_norm_backward_reduce(
        gradient, x, mean, invstd, weight, True, True, True
    )
    of_input = torch.batch_norm_backward_elemt(
        *(gradient, x, mean, invstd, weight.to(mean.dtype)), total, product, counts.int()
    )
    return [result, of_input, of_weight, of_bias], running


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_of_parts_as_of_the_whole(shape, dtype):
    torch.manual_seed(0)
    x, gradient = (torch.randn(shape).to(dtype) for _ in "xg")
    weight, bias = (torch.rand(CHANNELS).to(dtype) for _ in "wb")
    tolerance, of_statistics = TOLERANCES[dtype]
    results, running = in_parts(x, weight, bias, gradient)
    expected, expected_running = exact(x, weight, bias, gradient)
    assert [it.dtype for it in results] == [dtype] * 4
    for found, wanted in zip(results, expected, strict=True):
        torch.testing.assert_close(
            found.cpu().double(), wanted, atol=tolerance, rtol=tolerance, msg=str(found)
        )
    for found, wanted in zip(running, expected_running, strict=True):
        torch.testing.assert_close(
            found.cpu().double(), wanted, atol=of_statistics, rtol=of_statistics
        )


def test_without_weights_and_what_is_not_asked_for():
    x = torch.randn(4, CHANNELS, 5).to("acme")
    mean, invstd = torch.batch_norm_stats(x, EPS)
    result = torch.batch_norm_elemt(x, None, None, mean, invstd, EPS)
    torch.testing.assert_close(
        result.cpu(), torch.nn.functional.batch_norm(x.cpu(), None, None, training=True, eps=EPS)
    )
    out = torch.empty(0, device="acme")
    assert torch.batch_norm_elemt(x, None, None, mean, invstd, EPS, out=out) is out
    assert out.equal(result)
    asked = False, False, True
    total, product, of_weight, of_bias = torch.batch_norm_backward_reduce(
        x, x, mean, invstd, None, *asked
    )
    assert total is None and product is None and of_weight is None
    torch.testing.assert_close(of_bias.cpu(), x.cpu().sum((0, 2)))


def test_parts_of_one_size():
    x = torch.randn(4, CHANNELS).to("acme")
    means, invstds = map(
        torch.stack, zip(*(torch.batch_norm_stats(it, EPS) for it in (x[:2], x[2:])), strict=True)
    )
    running = torch.zeros(CHANNELS, device="acme"), torch.ones(CHANNELS, device="acme")
    mean, invstd = torch.batch_norm_gather_stats(x, means, invstds, *running, MOMENTUM, EPS, 2)
    for found, wanted in zip((mean, invstd), torch.batch_norm_stats(x, EPS), strict=True):
        torch.testing.assert_close(found.cpu(), wanted.cpu())
    torch.testing.assert_close(running[1].cpu(), 0.9 + 0.1 * x.cpu().var(0))


def test_a_tensor_without_channels_is_refused():
    with pytest.raises(RuntimeError, match="2 dimensions or more, got 1"):
        torch.batch_norm_stats(torch.ones(3, device="acme"), EPS)
