"""FlexAttention with its gradients: in eager mode and compiled."""

import pytest
import torch
from torch.nn.attention import flex_attention as flex
from torch.utils._pytree import tree_leaves

pytestmark = pytest.mark.any_runtime

BATCH, HEADS, LENGTH, WIDTH = 2, 2, 160, 16


def is_causal(batch, head, query, key):
    return query >= key


def nearer_is_more(score, batch, head, query, key):
    return score - 0.01 * (query - key)


def inputs(*, length=LENGTH):
    torch.manual_seed(0)
    query = torch.randn(BATCH, HEADS, length, WIDTH)
    return query, *(torch.randn(BATCH, HEADS, LENGTH, WIDTH) for _ in range(2))


def block_mask(device):
    return flex.create_block_mask(is_causal, None, None, LENGTH, LENGTH, device=device)


def written_out(query, key, value):
    """The same with torch's other operators."""
    scores = query @ key.mT / WIDTH**0.5
    rows, columns = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)
    scores = nearer_is_more(scores, 0, 0, rows, columns)
    return scores.masked_fill(columns > rows, -float("inf")).softmax(-1) @ value


def results_of(returned):
    return [leaf for leaf in tree_leaves(returned) if leaf is not None]


def test_it_equals_the_cpu():
    tensors = inputs()
    options = {"score_mod": nearer_is_more, "return_aux": flex.AuxRequest(lse=True)}
    expected = flex.flex_attention(*tensors, block_mask=block_mask("cpu"), **options)
    here = [tensor.acme() for tensor in tensors]
    results = flex.flex_attention(*here, block_mask=block_mask("acme"), **options)
    for result, want in zip(results_of(results), results_of(expected), strict=True):
        assert result.is_acme
        torch.testing.assert_close(result.cpu(), want)


@pytest.mark.parametrize("compile", [lambda f: f, lambda f: torch.compile(f, backend="aot_eager")])
def test_its_gradients(compile):
    """The CPU's is refused by torch."""
    tensors = [tensor.requires_grad_() for tensor in inputs()]
    written_out(*tensors).square().sum().backward()
    here = [tensor.detach().acme().requires_grad_() for tensor in tensors]
    attention = compile(flex.flex_attention)
    result = attention(*here, score_mod=nearer_is_more, block_mask=block_mask("acme"))
    result.square().sum().backward()
    for mine, want in zip(here, tensors, strict=True):
        torch.testing.assert_close(mine.grad.cpu(), want.grad, rtol=1e-4, atol=1e-5)


COMPILED = """
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

LENGTH, HEADS = 160, 2

def attention(query, key, value, bias, mask, aux=None):
    def score(s, b, h, q, k):
        return s + bias[h] - 0.01 * (q - k).float()

    return flex_attention(query, key, value, score_mod=score, block_mask=mask, return_aux=aux)

def inputs(device, dtype=torch.float32):
    torch.manual_seed(0)
    sizes = (2, HEADS, LENGTH, 16), (2, HEADS, LENGTH, 16), (2, HEADS, LENGTH, 16), (HEADS,)
    tensors = [torch.randn(size).to(device, dtype) for size in sizes]
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, LENGTH, LENGTH, device=device)
    return tensors, mask

def assert_close(results, expected):
    for result, want in zip(results, expected, strict=True):
        assert result.is_acme
        torch.testing.assert_close(result.cpu(), want.cpu(), rtol=1e-3, atol=1e-4)

"""

INFERENCE = """
def attend(*arguments):
    return attention(*arguments).sin()  # which is not fused with it

tensors, mask = inputs("acme")
compiled = torch.compile(attend, fullgraph=True)
result = compiled(*tensors, mask)  # gradients are on, and nothing needs one
tensors, mask = inputs("cpu")
assert_close([result], [attend(*tensors, mask)])
"""

TRAINING = """
def step(attention, dtype):
    tensors, mask = inputs("acme", dtype)
    for tensor in tensors:
        tensor.requires_grad_()
    result, aux = attention(*tensors, mask, AuxRequest(lse=True))
    (result.sin().sum() + aux.lse.cos().sum()).backward()
    return [result.detach(), aux.lse.detach().to(dtype), *(tensor.grad for tensor in tensors)]

compiled = torch.compile(attention, fullgraph=True)
for dtype in torch.float32, torch.float64:
    assert_close(step(compiled, dtype), step(attention, dtype))

def scaled(s, b, h, q, k):
    return s * torch.tensor([1.0, 2.0], device=s.device)[h]

query = torch.ones(1, HEADS, 8, 16, device="acme", requires_grad=True)
try:
    torch.compile(lambda x: flex_attention(x, x, x, score_mod=scaled))(query).sum().backward()
except Exception as refused:
    assert "make it outside, and let score_mod capture it" in str(refused), refused
else:
    raise AssertionError("compiled")
"""


def test_autocast_computes_in_the_lower_precision():
    here = [tensor.acme() for tensor in inputs()]
    with torch.autocast("acme", dtype=torch.bfloat16):
        result = flex.flex_attention(*here, block_mask=block_mask("acme"))
        assert flex.flex_attention(*(tensor.double() for tensor in here)).dtype == torch.float64
    assert result.dtype == torch.bfloat16
    expected = flex.flex_attention(*here, block_mask=block_mask("acme"))
    torch.testing.assert_close(result.float(), expected, rtol=0.05, atol=0.05)


@pytest.mark.skipif(
    not torch.acme.get_device_properties(0).is_host_addressable,
    reason="Inductor needs memory that the CPU can address",
)
@pytest.mark.parametrize("program", [INFERENCE, TRAINING], ids=["inference", "training"])
def test_it_is_compiled(run_compiled, program):
    run_compiled(COMPILED + program)


def test_other_devices_are_refused_as_before():
    tensors = [tensor.to("meta") for tensor in inputs()]
    with pytest.raises(ValueError, match="only supported on"):
        flex.flex_attention(*tensors)
