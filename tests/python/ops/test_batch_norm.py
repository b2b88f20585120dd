"""Batch normalization, in every form that has a path of its own, to the CPU's last bit."""

import pytest
import torch

pytestmark = pytest.mark.turns_on_memory

ops = torch.ops.aten
LAYOUTS = ("contiguous", "channels last", "transposed")


def images(layout, dtype):
    x = torch.randn(2, 3, 4, 5).to(dtype)
    if layout == "transposed":
        return x.permute(3, 1, 2, 0)
    return x.contiguous(memory_format=torch.channels_last) if layout == "channels last" else x


@pytest.mark.parametrize("eps", [1e-5, 0.0])
@pytest.mark.parametrize("has_weight", [True, False], ids=["weighted", "plain"])
@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", [ops.native_batch_norm, ops._native_batch_norm_legit])
def test_forward_and_backward(op, layout, dtype, training, has_weight, eps):
    torch.manual_seed(0)
    x = images(layout, dtype)
    of_weight = [torch.randn(3).to(dtype) if has_weight else None for _ in range(2)]
    statistics = [torch.randn(3).to(dtype), torch.rand(3).to(dtype) + 0.5]

    def run(place):
        here = [place(each) for each in statistics]
        weight, bias = map(place, of_weight)
        result, mean, invstd = op(place(x), weight, bias, *here, training, 0.3, eps)
        kept = (mean, invstd, training, eps, [True, has_weight, has_weight])
        slopes = ops.native_batch_norm_backward(result, place(x), weight, *here, *kept)
        return (result, mean, invstd, *here, *slopes)

    cpus = run(lambda each: None if each is None else each.clone())
    ours = run(lambda each: None if each is None else each.acme())
    for our, cpu in zip(ours, cpus, strict=True):
        if cpu is None:
            assert our is None
        else:
            assert our.stride() == cpu.stride() and torch.equal(our.cpu(), cpu)


def test_without_statistics():
    x = torch.randn(4, 3)
    cpus = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    ours = torch.native_batch_norm(x.acme(), None, None, None, None, True, 0.1, 1e-5)
    assert all(torch.equal(our.cpu(), cpu) for our, cpu in zip(ours, cpus, strict=True))


def test_what_the_cpu_refuses_is_refused():
    with pytest.raises(RuntimeError):
        torch.native_batch_norm(torch.ones(0, 3).acme(), *[None] * 4, True, 0.1, 1e-5)
