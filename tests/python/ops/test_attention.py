"""scaled_dot_product_attention: the choice of its kernel, wherever the tensors are no real ones."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, jvp, vmap

pytestmark = pytest.mark.turns_on_memory

SHAPE = (2, 2, 4, 8)


def inputs(device, count=3):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(SHAPE, generator=generator).to(device) for _ in range(count)]


def attend(*given, **more):
    return F.scaled_dot_product_attention(*given, **more)


def learned_mask(device):
    """As in T5, BEiT and vision transformers with relative positions."""
    query, key, value = inputs(device)
    mask = torch.linspace(-1, 1, 16).view(4, 4).to(device).requires_grad_()
    attend(query, key, value, attn_mask=mask).square().sum().backward()
    return mask.grad


def vmapped(device):
    return vmap(attend)(*(x[None].expand(3, *SHAPE) for x in inputs(device)))


def vmapped_gradient(device):
    def loss(query, key, value):
        return attend(query, key, value).square().sum()

    return vmap(grad(loss))(*(x[None].expand(3, *SHAPE) for x in inputs(device)))


def of_functional_parameters(device):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True).to(device)
    x = inputs(device)[0][0]

    def loss(parameters):
        return functional_call(layer, parameters, (x, x, x))[0].square().sum()

    return grad(loss)({name: p.detach() for name, p in layer.named_parameters()})["in_proj_weight"]


CALLS = {
    "learned mask": learned_mask,
    "func.grad": lambda d: grad(lambda q, k, v: attend(q, k, v).sum())(*inputs(d)),
    "func.jvp": lambda d: jvp(lambda q: attend(q, q, q), (inputs(d)[0],), (inputs(d)[1],))[1],
    "vmap": vmapped,
    "vmap of grad": vmapped_gradient,
    "functional_call": of_functional_parameters,
    "functionalize": lambda d: torch.func.functionalize(attend)(*inputs(d)),
    "nested": lambda d: attend(
        *(torch.nested.as_nested_tensor(list(x), layout=torch.jagged) for x in inputs(d))
    ).values(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_equals_the_cpu(call):
    try:
        expected = call("cpu")
    except (RuntimeError, NotImplementedError) as refused:
        with pytest.raises(type(refused)):
            call("acme")
        return
    torch.testing.assert_close(call("acme").cpu(), expected)


@pytest.mark.parametrize("mask", [None, (4, 4), (2, 1, 4, 4)])
def test_has_a_shape_without_memory(mask):
    with FakeTensorMode():
        given = [torch.empty(SHAPE, device="acme", requires_grad=True) for _ in range(3)]
        mask = mask if mask is None else torch.empty(mask, device="acme")
        result = attend(*given, attn_mask=mask)
        assert result.shape == SHAPE and result.is_acme
        result.sum().backward()
        assert given[0].grad.shape == SHAPE


def test_the_choice_is_an_operator_too():
    for device in ("cpu", "acme"):
        query, key, value = inputs(device)
        mask = torch.zeros(4, 4, device=device, requires_grad=True)
        assert torch._fused_sdp_choice(query, key, value) == 1  # flash attention
        assert torch._fused_sdp_choice(query, key, value, mask) == 0  # math: it has a derivative


def networks():
    torch.manual_seed(0)
    return {
        "attention": nn.MultiheadAttention(8, 2, batch_first=True),
        "encoder": nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True),
    }


def run(network, x):
    return network(x, x, x)[0] if isinstance(network, nn.MultiheadAttention) else network(x)


# An encoder has the attention in it, and Inductor takes seconds.
@pytest.mark.parametrize(
    ("name", "backend"),
    [("attention", "aot_eager"), ("encoder", "aot_eager"), ("encoder", "inductor")],
)
def test_compiled(name, backend, inductor, monkeypatch):
    for variable, value in inductor.items():
        monkeypatch.setenv(variable, value)
    network, x = networks()[name], inputs("cpu")[0][0]
    expected = run(network, x)
    (wanted,) = torch.autograd.grad(expected.square().sum(), [next(network.parameters())])
    network, x = network.acme(), x.acme()
    compiled = torch.compile(run, backend=backend, fullgraph=True)
    result = compiled(network, x)
    (gradient,) = torch.autograd.grad(result.square().sum(), [next(network.parameters())])
    torch.testing.assert_close(result.cpu(), expected)
    torch.testing.assert_close(gradient.cpu(), wanted)


@pytest.mark.parametrize("strict", [False, True])
def test_exported(strict):
    network, x = networks()["encoder"].acme().eval(), inputs("acme")[0][0]
    program = torch.export.export(network, (x,), strict=strict)
    torch.testing.assert_close(program.module()(x), network(x))


def test_a_vendors_fused_attention_is_chosen(run_python):
    run_python(
        """
        import torch
        import torch.nn.functional as F
        from torch.nn.attention import SDPBackend, sdpa_kernel

        calls = []
        vendor = torch.library.Library("aten", "IMPL")

        def attend(query, key, value, *others, **more):
            calls.append("forward")
            rows = query.shape[:3]
            empty = torch.zeros(0, dtype=torch.long, device="acme")
            return value * 2, query.new_zeros(rows), empty, empty, 4, 4, empty, empty, empty

        def derive(grad_out, query, key, value, *others, **more):
            calls.append("backward")
            return torch.zeros_like(query), torch.zeros_like(key), grad_out * 2, None

        x = torch.ones(1, 2, 4, 8, device="acme", requires_grad=True)
        plain = F.scaled_dot_product_attention(x, x, x)
        name = "_scaled_dot_product_fused_attention_overrideable"
        vendor.impl(name, attend, "PrivateUse1")
        vendor.impl(name + "_backward", derive, "PrivateUse1")
        result = F.scaled_dot_product_attention(x, x, x)
        result.sum().backward()
        assert calls == ["forward", "backward"], calls
        assert result.unique().tolist() == [2.0] and x.grad.unique().tolist() == [2.0]
        with sdpa_kernel(SDPBackend.MATH):
            assert torch.equal(F.scaled_dot_product_attention(x, x, x), plain)
        assert len(calls) == 2
        """
    )


def heads_last(tensor):
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


@pytest.mark.parametrize("mask", [None, (4, 4), (2, 1, 4, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("as_gradient", [heads_last, torch.Tensor.contiguous, "one number"])
def test_the_cpus_kernel_and_its_derivative_give_the_same_bits(mask, dtype, as_gradient):
    """It makes the gradient contiguous, and its own results start from zeros."""
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    derivative = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward

    def results(device):
        query, key, value, gradient = (x.to(dtype).to(device) for x in inputs(device, 4))
        if as_gradient == "one number":
            gradient = gradient[0, 0, 0, 0].expand(SHAPE)
        else:
            gradient = as_gradient(gradient)
        added = mask and torch.arange(4.0, dtype=dtype).expand(mask).to(device)
        torch.ones_like(query).mul_(2)  # what the results' memory held before
        given = {"attn_mask": added}
        out, sums = flash(query, heads_last(key), value, 0.0, added is None, **given)
        forward = (query, heads_last(key), value, out, sums, 0.0, added is None)
        return [out, sums, *derivative(gradient, *forward, **given)]

    for on_device, expected in zip(results("acme"), results("cpu"), strict=True):
        assert torch.equal(on_device.cpu(), expected)
        assert on_device.stride() == expected.stride()
