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


def test_either_statistic_alone_is_refused():
    x, of_one = torch.randn(2, 3, 4).acme(), torch.zeros(3).acme()
    for mean, variance in ((of_one, None), (None, of_one)):
        with pytest.raises(ValueError, match="neither be None"):
            torch.native_batch_norm(x, None, None, mean, variance, True, 0.1, 1e-5)


def test_a_variance_that_eps_takes_away():
    x = torch.tensor([[[1.0, 3.0]]])  # its variance is 1
    ours, cpus = (
        torch.native_batch_norm(each, None, None, None, None, True, 0.1, -1.0)
        for each in (x.acme(), x)
    )
    assert cpus[2].item() == ours[2].item() == float("inf")


def test_without_an_update():
    x, statistics = torch.randn(2, 3, 4), (torch.randn(3), torch.rand(3))
    op = ops._batch_norm_no_update
    cpus = op(x, None, None, *statistics, 0.1, 1e-5)
    ours = op(x.acme(), None, None, *(each.acme() for each in statistics), 0.1, 1e-5)
    assert all(torch.equal(our.cpu(), cpu) for our, cpu in zip(ours, cpus, strict=True))


# Work that an operator leaves on the stream ends late.
LATE = """
import warnings
import torch, torch_acme
warnings.filterwarnings("ignore", "Warning only once for all operators")
F = torch.nn.functional
torch.use_deterministic_algorithms({deterministic})
if {deterministic}:
    nan = torch.full((1 << 12,), float("nan")).pin_memory()
    def fill(x, value):
        return x.copy_(nan[: x.numel()].view(x.shape), non_blocking=True)
    library = torch.library.Library("aten", "IMPL")
    library.impl("fill_.Scalar", fill, "PrivateUse1")
torch.manual_seed(0)
for shape in [(8, 17), (8, 17, 1), (8, 17, 1, 1), (8, 17, 3)]:
    x, weight = torch.randn(shape), torch.randn(17)
    found = []
    for place in (lambda each: each, lambda each: each.to("acme")):
        leaves = [place(each).requires_grad_() for each in (x, weight)]
        y = F.batch_norm(leaves[0], None, None, leaves[1], training=True)
        slopes = torch.autograd.grad(y, leaves, place(x))
        normalized = F.layer_norm(leaves[0], shape[1:])
        found.append([each.cpu() for each in (y, *slopes, normalized)])
    print(all(map(torch.equal, *found)))
"""


@pytest.mark.parametrize("deterministic", [False, True])
def test_what_its_loops_call_on_the_way(run_python, deterministic):
    done = run_python(LATE.format(deterministic=deterministic), OUTBACK_HOST_ADVERSARIAL="1")
    assert done.output.split() == ["True"] * 4
