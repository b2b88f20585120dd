"""Tensors that are more than strides and a storage, and operators that take functions."""

import copy
import io

import pytest
import torch
import torch.nn.functional as F
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.associative_scan import associative_scan

pytestmark = [
    pytest.mark.turns_on_memory,
    pytest.mark.filterwarnings("ignore:Sparse"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
    pytest.mark.filterwarnings("ignore:torch.quantize_per"),
    pytest.mark.filterwarnings("ignore:.*quantized.*"),
]


def quantized(device, scale=0.5, zero_point=1):
    values = torch.tensor([1.0, 2.0, 3.0], device=device)
    return torch.quantize_per_tensor(values, scale, zero_point, torch.quint8)


def nested(device, **more):
    return torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], device=device, **more)


def per_channel(device, scale=0.1):
    scales = torch.tensor([1, 2, 3], device=device) * scale
    zeros = torch.tensor([0, 1, 2], device=device)
    return torch.quantize_per_channel(
        torch.ones(3, 2, device=device), scales, zeros, 0, torch.qint8
    )


def rows(device, scale=0.5):
    values = torch.arange(6.0, device=device).view(2, 3)
    return torch.quantize_per_tensor(values, scale, 0, torch.quint8)


def reloaded(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


def with_loaded_state(device):
    module = torch.nn.Module()
    module.register_buffer("weight", rows(device))
    module.load_state_dict({"weight": rows("cpu", 0.25)})
    return module.weight.dequantize()


def nested_gradient(device):
    x, weight = nested(device), torch.ones(5, 3, device=device, requires_grad=True)
    sum(part.sum() for part in F.linear(x, weight).unbind()).backward()
    return weight.grad


CALLS = {
    "quantized": lambda d: quantized(d).int_repr(),
    "dequantized": lambda d: quantized(d).dequantize(),
    "quantized elsewhere": lambda d: quantized("cpu").to(d).dequantize(),
    "quantized, cloned": lambda d: quantized(d).clone().int_repr(),
    "quantized, copied to": lambda d: quantized(d).copy_(quantized(d, 0.25, 3)).dequantize(),
    "quantized, copied to from the CPU": lambda d: quantized(d)
    .copy_(quantized("cpu", 0.25, 3))
    .dequantize(),
    "quantized, loaded": with_loaded_state,
    "quantized, transposed and saved": lambda d: reloaded(rows(d).t()).dequantize(),
    "quantized, a row saved": lambda d: reloaded(rows(d)[1]).dequantize(),
    "quantized, deepcopied": lambda d: copy.deepcopy(rows(d).t()).dequantize(),
    "quantized, smaller": lambda d: rows(d).resize_(2, 2).dequantize(),
    "quantized, larger": lambda d: rows(d).resize_(4, 3)[:2].dequantize(),
    "quantized, like another": lambda d: rows(d).resize_as_(torch.ones(1, 2, device=d)).int_repr(),
    "quantized, of a storage": lambda d: rows(d)
    .set_(rows(d).untyped_storage(), 1, (2, 2), (1, 2))
    .dequantize(),
    "quantized by channel": lambda d: per_channel(d).dequantize(),
    "quantized by channel, copied to": lambda d: torch.empty_like(per_channel(d))
    .copy_(per_channel(d, 0.5))
    .dequantize(),
    "nested": lambda d: nested(d).unbind(),
    "nested elsewhere": lambda d: nested("cpu").to(d).unbind(),
    "nested + 1": lambda d: (nested(d) + 1).unbind(),
    "nested linear": lambda d: F.linear(nested(d), torch.ones(5, 3, device=d)).unbind(),
    "nested linear, derived": nested_gradient,
    "nested, padded": lambda d: nested(d).to_padded_tensor(0.0),
    "jagged": lambda d: (nested(d, layout=torch.jagged) * 2).values(),
    "cond": lambda d: torch.cond(
        torch.tensor(True, device=d), torch.sin, torch.cos, (torch.ones(3, device=d),)
    ),
    "while_loop": lambda d: while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, x * 2),
        (torch.tensor(0, device=d), torch.ones(3, device=d)),
    ),
    "associative_scan": lambda d: associative_scan(
        torch.add, torch.arange(5.0, device=d), 0, combine_mode="generic"
    ),
}


def tensors_of(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_equals_the_cpu(call):
    expected, results = tensors_of(call("cpu")), tensors_of(call("acme"))
    for result, want in zip(results, expected, strict=True):
        assert result.is_acme
        torch.testing.assert_close(result.cpu(), want)
