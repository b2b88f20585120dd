"""FlexAttention: in eager mode with its gradients, and compiled as on the CPU."""

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
        assert torch.equal(result.cpu(), want)


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
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

LENGTH, HEADS = 160, 2
torch.manual_seed(0)
tensors = [torch.randn(2, HEADS, LENGTH, 16) for _ in range(3)]
per_head = torch.randn(HEADS)
attention = torch.compile(flex_attention, fullgraph=True)

def run(attention, device):
    bias = per_head.to(device)
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, LENGTH, LENGTH, device=device)
    here = [tensor.to(device) for tensor in tensors]
    return attention(*here, score_mod=lambda s, b, h, q, k: s + bias[h], block_mask=mask)

result = run(attention, "acme")  # gradients are on, and nothing needs one
assert result.is_acme
torch.testing.assert_close(result.cpu(), run(flex_attention, "cpu"))

try:
    attention(*(tensor.acme().requires_grad_() for tensor in tensors))
except Exception as refused:
    words = " ".join(str(refused).split())
    assert "neither gradients nor return_lse: call it under torch.no_grad()" in words, words
else:
    raise AssertionError("it has no gradients")
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
@pytest.mark.skipif(
    not torch.cpu._is_avx2_supported(),
    reason="Inductor's FlexAttention for the CPU needs a processor with AVX2",
)
def test_it_is_compiled_as_on_the_cpu(run_compiled):
    run_compiled(COMPILED)


def test_other_devices_are_refused_as_before():
    tensors = [tensor.to("meta") for tensor in inputs()]
    with pytest.raises(ValueError, match="only supported on"):
        flex.flex_attention(*tensors)
