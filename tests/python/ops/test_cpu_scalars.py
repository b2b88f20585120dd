"""CPU tensors without dimensions among tensors of the device: taken where CUDA takes them, and
refused where CUDA refuses them, before anything is written."""

import pytest
import torch
import torch.nn.functional as F

pytestmark = pytest.mark.turns_on_memory

MESSAGE = (
    "Expected all tensors to be on the same device, but found at least two devices, acme:0 and cpu!"
)


def rand(*size):
    return torch.rand(size, generator=torch.Generator().manual_seed(sum(size)))


NUMBER, INDEX = torch.tensor(0.5), torch.tensor(1)
INDICES = torch.tensor([0, 1, 1])

# `on` puts what is not a CPU scalar where it is to be.
TAKEN = {
    "x + s": lambda on: on(rand(3)) + NUMBER,
    "s - x": lambda on: NUMBER - on(rand(3)),
    "x.mul_(s)": lambda on: on(rand(3)).mul_(NUMBER),
    "s / x, out=": lambda on: torch.div(NUMBER, on(rand(3)), out=on(rand(3))),
    "s ** x": lambda on: NUMBER ** on(rand(3)),
    "2 ** x": lambda on: 2 ** on(rand(3)),
    "x < s": lambda on: on(rand(3)) < NUMBER,
    "maximum": lambda on: torch.maximum(NUMBER, on(rand(3))),
    "atan2": lambda on: torch.atan2(on(rand(3)), NUMBER),
    "copysign": lambda on: torch.copysign(on(rand(3)), -NUMBER),
    "heaviside": lambda on: torch.heaviside(on(rand(3)), NUMBER),
    "where, one": lambda on: torch.where(on(rand(3)) > 0.5, NUMBER, on(rand(3))),
    "where, two": lambda on: torch.where(on(rand(3)) > 0.5, NUMBER, 2 * NUMBER),
    "where, numbers": lambda on: torch.where(on(rand(3)) > 0.5, 1.0, on(rand(3))),
    "lerp, the weight": lambda on: torch.lerp(on(rand(3)), on(rand(3)), NUMBER),
    "addcmul, the second": lambda on: torch.addcmul(on(rand(3)), on(rand(3)), NUMBER),
    "clamp, numbers": lambda on: on(rand(3)).clamp(0.25, 0.5),
    "masked_fill": lambda on: on(rand(3)).masked_fill(on(rand(3)) > 0.5, NUMBER),
    "index_fill": lambda on: on(rand(3)).index_fill(0, on(INDICES), NUMBER),
    "x[:] = s": lambda on: on(rand(3)).fill_(NUMBER),
    "x.copy_(s)": lambda on: on(rand(3)).copy_(NUMBER),
    "x[i] = s": lambda on: on(rand(3)).index_put((on(INDICES),), NUMBER),
    "x[s]": lambda on: on(rand(3, 4))[INDEX],
    "x[s, i]": lambda on: torch.ops.aten.index(on(rand(3, 4)), [INDEX, on(INDICES)]),
    "_foreach_mul": lambda on: torch._foreach_mul([on(rand(3)), on(rand(4))], NUMBER)[1],
    "_foreach_add, some": lambda on: torch._foreach_add(
        [on(rand(3)), NUMBER], [NUMBER, on(rand(4))]
    )[1],
}

# Each gets tensors of the device, and returns a call that has a CPU scalar among them.
REFUSED = {
    "addmm": lambda x, i: torch.addmm(NUMBER, x, x),
    "addmm, out=": lambda x, i: torch.addmm(NUMBER, x, x, out=x[:]),
    "baddbmm": lambda x, i: torch.baddbmm(NUMBER, x[None], x[None]),
    "addmv": lambda x, i: torch.addmv(NUMBER, x, x[0]),
    "addcdiv": lambda x, i: torch.addcdiv(x, NUMBER, x),
    "addcdiv_": lambda x, i: x.addcdiv_(x, NUMBER),
    "addcmul, the first": lambda x, i: x.addcmul_(NUMBER, x),
    "lerp, the end": lambda x, i: torch.lerp(x, NUMBER, x),
    "lerp_, the end, by a number": lambda x, i: x.lerp_(NUMBER, 0.5),
    "clamp": lambda x, i: torch.clamp(x, NUMBER),
    "clamp_, both": lambda x, i: x.clamp_(NUMBER, 2 * NUMBER),
    "clamp_max": lambda x, i: torch.clamp_max(x, NUMBER),
    "logaddexp": lambda x, i: torch.logaddexp(x, NUMBER),
    "nextafter_": lambda x, i: x.nextafter_(NUMBER),
    "igamma": lambda x, i: torch.igamma(NUMBER, x),
    "complex": lambda x, i: torch.complex(x, NUMBER),
    "gcd": lambda x, i: torch.gcd(i, INDEX),
    "equal": lambda x, i: torch.equal(x, NUMBER),
    "isin": lambda x, i: torch.isin(i, INDEX),
    "abs, out=": lambda x, i: torch.abs(NUMBER, out=x[0, 0]),
    "sum, out=": lambda x, i: torch.sum(NUMBER, 0, out=x[0, 0]),
    "sigmoid_backward": lambda x, i: torch.ops.aten.sigmoid_backward(NUMBER, x),
    "threshold_backward": lambda x, i: torch.ops.aten.threshold_backward(NUMBER, x, 0),
    "gelu_backward": lambda x, i: torch.ops.aten.gelu_backward(NUMBER, x),
    "binary_cross_entropy": lambda x, i: F.binary_cross_entropy(x[0, 0], NUMBER),
    "mse_loss": lambda x, i: torch.ops.aten.mse_loss(x, NUMBER),
    "nll_loss": lambda x, i: F.nll_loss(x[0], INDEX),
    "embedding": lambda x, i: F.embedding(INDEX, x),
    "index_select": lambda x, i: x.index_select(0, INDEX),
    "index_add_": lambda x, i: x[0].index_add_(0, INDEX, x[0, :1]),
    "index_copy, the source": lambda x, i: x[0].index_copy(0, i[:1], NUMBER),
    "index_fill, the index": lambda x, i: x.index_fill(0, INDEX, 2.0),
    "gather": lambda x, i: x[0].gather(0, INDEX),
    "scatter_, the source": lambda x, i: x[0].scatter_(0, i[:1], NUMBER),
    "scatter, the index": lambda x, i: x[0].scatter(0, INDEX, 2.0),
    "take": lambda x, i: x.take(INDEX),
    "put_, the values": lambda x, i: x.put_(i[:1], NUMBER),
    "masked_fill_, the mask": lambda x, i: x.masked_fill_(INDEX > 0, 2.0),
    "masked_select": lambda x, i: x.masked_select(INDEX > 0),
    "searchsorted": lambda x, i: torch.searchsorted(x[0].cumsum(0), NUMBER),
    "stack": lambda x, i: torch.stack([x[0, 0], NUMBER]),
    "batch_norm": lambda x, i: torch.native_batch_norm(
        x[:, :1].clone(), NUMBER, None, None, None, True, 0.1, 1e-5
    ),
    "_foreach_lerp_": lambda x, i: torch._foreach_lerp_([x[0, 0]], [NUMBER], 0.5),
    "_foreach_maximum": lambda x, i: torch._foreach_maximum([x, x], [x, NUMBER]),
}


@pytest.mark.parametrize("call", TAKEN.values(), ids=TAKEN)
def test_they_are_taken_where_cuda_takes_them(call):
    result = call(torch.Tensor.acme)
    assert result.is_acme
    assert torch.equal(result.cpu(), call(torch.Tensor.clone))


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_they_are_refused_where_cuda_refuses_them(call):
    x, i = rand(3, 3), INDICES.clone()
    ours = x.acme(), i.acme()
    with pytest.raises(RuntimeError) as refused:
        call(*ours)
    assert str(refused.value).splitlines()[0] == MESSAGE
    assert torch.equal(ours[0].cpu(), x) and torch.equal(ours[1].cpu(), i)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_every_way_to_a_kernel_refuses_them(dtype):
    x = torch.ones(3, 3, device="acme", dtype=dtype)
    number = torch.ones((), dtype=dtype)
    for call in (
        lambda: torch.clamp_min(x, number),
        lambda: torch.clamp_min(x.t(), number),
        lambda: x[:0].clamp_min_(number),
        lambda: torch.clamp_min(number, x),
        lambda: torch.ops.aten.clamp(x, x, number),
    ):
        with pytest.raises(RuntimeError, match=MESSAGE):
            call()


@pytest.mark.parametrize("operator", [torch.add, torch.div, torch.maximum, torch.pow, torch.eq])
def test_two_of_them_and_nothing_else_to_read_are_refused(operator):
    out = torch.zeros(3, device="acme", dtype=operator(NUMBER, NUMBER).dtype)
    with pytest.raises(RuntimeError, match="too many CPU scalars"):
        operator(NUMBER, NUMBER, out=out)
    assert not out.any()
    torch.where(out == 0, NUMBER, NUMBER)


def test_a_tensor_without_dimensions_of_the_device_is_taken():
    x = torch.ones(3, 3, device="acme")
    assert torch.equal(torch.clamp_max(x, NUMBER.acme()).cpu(), torch.full((3, 3), 0.5))


def test_gradients_do_not_meet_them():
    x = rand(3).acme().requires_grad_()
    scale = torch.tensor(2.0, requires_grad=True)
    loss = (torch.where(x > 0.5, scale, x) * scale).lerp(x, scale / 4).sum()
    loss.backward()
    assert x.grad.is_acme
    assert scale.grad.is_cpu
    assert scale.grad.isfinite()


def assigned(x, index, value):
    x[index] = value
    return x


@pytest.mark.parametrize(
    "write",
    [
        lambda x, s: x.fill_(s),
        lambda x, s: assigned(x, x > 0.5, s),
        lambda x, s: assigned(x, [0, 1], s),
        lambda x, s: assigned(x, (slice(1), INDICES), s),
        lambda x, s: x.index_put_((INDICES,), s, accumulate=True),
        lambda x, s: x.index_fill_(0, INDICES, s),
    ],
)
def test_a_tensor_of_the_cpu_takes_a_number_of_the_device(write):
    expected = write(rand(3, 4), NUMBER)
    assert torch.equal(write(rand(3, 4), NUMBER.to("acme")), expected)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, s: x.fill_(s),
        lambda x, s: assigned(x, x > 0.5, s),
        lambda x, s: x.index_fill_(0, INDICES, s),
    ],
)
def test_a_tensor_of_the_cpu_takes_no_row_of_the_device(write):
    x = rand(3)
    with pytest.raises(RuntimeError):
        write(x, torch.ones(3, device="acme"))
    assert torch.equal(x, rand(3))
