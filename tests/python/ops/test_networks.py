"""Whole layers: the same results and gradients as on the CPU."""

import copy

import pytest
import torch
from torch import nn

pytestmark = pytest.mark.turns_on_memory

LAYERS = {
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3), (2, 4, 9)),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9, 9)),
    "Conv2d without bias": (lambda: nn.Conv2d(4, 6, 3, dilation=2, bias=False), (2, 4, 9, 9)),
    "Conv3d": (lambda: nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 6, 3), (2, 4, 9)),
    "ConvTranspose2d": (
        lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1, groups=2),
        (2, 4, 5, 5),
    ),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(2, 3, 2), (1, 2, 4, 4, 4)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 4, 3, 3)),
}


def leaves(results) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(results) if leaf is not None]


@pytest.mark.parametrize("layer", LAYERS)
def test_trains_as_on_the_cpu(layer):
    make, shape = LAYERS[layer]
    torch.manual_seed(0)
    on_cpu = make()
    on_device = copy.deepcopy(on_cpu).acme()
    x = torch.randn(shape, requires_grad=True)
    y = x.detach().acme().requires_grad_()
    expected, results = leaves(on_cpu(x)), leaves(on_device(y))
    for a, b in zip(expected, results, strict=True):
        assert b.device.type == "acme"
        torch.testing.assert_close(b.cpu(), a)
    sum(a.square().sum() for a in expected).backward()
    sum(b.square().sum() for b in results).backward()
    torch.testing.assert_close(y.grad.cpu(), x.grad, rtol=1e-4, atol=1e-4)
    for a, b in zip(on_cpu.parameters(), on_device.parameters(), strict=True):
        torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mask", ["none", "causal", "boolean", "additive"])
@pytest.mark.parametrize("needs_grad", [False, True])
def test_attention(mask, needs_grad):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 6, 8, requires_grad=needs_grad) for _ in range(3))
    additive = torch.randn(6, 6)
    masks = {"boolean": additive > -1, "additive": additive}

    def attend(device: str):
        inputs = [t.detach().to(device).requires_grad_(needs_grad) for t in (query, key, value)]
        given = masks[mask].to(device) if mask in masks else None
        result = nn.functional.scaled_dot_product_attention(
            *inputs, attn_mask=given, is_causal=mask == "causal"
        )
        gradients = torch.autograd.grad(result.square().sum(), inputs) if needs_grad else ()
        return [result, *gradients]

    for a, b in zip(attend("cpu"), attend("acme"), strict=True):
        torch.testing.assert_close(b.cpu(), a)


def test_attention_runs_the_kernel_that_the_cpu_would():
    x = torch.randn(1, 2, 4, 8, device="acme", requires_grad=True)
    result = nn.functional.scaled_dot_product_attention(x, x, x)
    assert "FlashAttentionForCpu" in type(result.grad_fn).__name__
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        result = nn.functional.scaled_dot_product_attention(x, x, x)
    assert "FlashAttentionForCpu" not in type(result.grad_fn).__name__


def test_convolutions_of_channels_last_images():
    conv = nn.Conv2d(3, 4, 3)
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    torch.testing.assert_close(copy.deepcopy(conv).acme()(x.acme()).cpu(), conv(x))
