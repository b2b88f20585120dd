"""Programs on the device and on the CPU, and two small models for them."""

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map_only

STEPS = 4


def agrees(program, **tolerance):
    """Runs `program(on)` on the CPU and on the device, from the same seed. The tensors that it
    returns have to be where it ran."""
    torch.manual_seed(0)
    expected = program("cpu")
    torch.manual_seed(0)
    found = program("acme")
    for it in tree_leaves(found):
        assert not isinstance(it, torch.Tensor) or it.device.type == "acme"
    found = tree_map_only(torch.Tensor, lambda it: it.detach().cpu(), found)
    expected = tree_map_only(torch.Tensor, lambda it: it.detach(), expected)
    tolerance = {"rtol": 1e-4, "atol": 1e-5} | tolerance
    torch.testing.assert_close(found, expected, **tolerance)
    return found


def trained(model, loss, optimizer=None):
    """The losses of a few steps, and one of the parameters after them."""
    optimizer = optimizer or torch.optim.AdamW(
        [it for it in model.parameters() if it.requires_grad], lr=1e-3
    )
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    assert all(it.device == losses[0].device for it in model.parameters())
    return losses


def perceptron():
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))


def tiny_llama(**changes):
    transformers = pytest.importorskip("transformers")
    config = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 100,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**config | changes))
