"""Kernels in the dialect, compiled for the device, as a custom operator with a derivative."""

from pathlib import Path

import torch
import torch.nn.functional as F
import torch_acme  # noqa: F401  (the backend)

SOURCE = Path(__file__).resolve().parent / "src/scaled_silu.k"

forward, backward = torch.acme.compile_kernel(
    SOURCE.read_text(), ["scaled_silu", "scaled_silu_backward"], language="dialect"
)


def groups(tensor: torch.Tensor) -> int:
    return -(-tensor.numel() // forward.items)


@torch.library.custom_op("example::scaled_silu", mutates_args=())
def scaled_silu(x: torch.Tensor, scale: float) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    forward(groups(x), forward.items, (x.numel(), scale, out, x))
    return out


@torch.library.custom_op("example::scaled_silu_backward", mutates_args=())
def scaled_silu_backward(grad: torch.Tensor, x: torch.Tensor, scale: float) -> torch.Tensor:
    grad, x = grad.contiguous(), x.contiguous()
    out = torch.empty_like(x)
    backward(groups(x), backward.items, (x.numel(), scale, out, grad, x))
    return out


scaled_silu.register_fake(lambda x, scale: x.new_empty(x.shape))
scaled_silu_backward.register_fake(lambda grad, x, scale: x.new_empty(x.shape))


def keep(ctx, inputs, output):
    x, ctx.scale = inputs
    ctx.save_for_backward(x)


scaled_silu.register_autograd(
    lambda ctx, grad: (scaled_silu_backward(grad, *ctx.saved_tensors, ctx.scale), None),
    setup_context=keep,
)

torch.manual_seed(0)
x = torch.randn(1000, device="acme", requires_grad=True)
on_cpu = x.detach().cpu().requires_grad_()
result, expected = scaled_silu(x, 0.5), F.silu(on_cpu) * 0.5
result.square().sum().backward()
expected.square().sum().backward()
torch.testing.assert_close(result.detach().cpu(), expected.detach())
torch.testing.assert_close(x.grad.cpu(), on_cpu.grad)
print(forward, "with", forward.argument_count, "arguments computes what the CPU does")
print(backward, "does too")

compiled = torch.compile(lambda x: scaled_silu(x * 2, 0.5) + 1, fullgraph=True)
torch.testing.assert_close(compiled(x), scaled_silu(x * 2, 0.5) + 1)
print("in torch.compile(fullgraph=True): equal")

try:
    forward(groups(x), forward.items, (x.numel(), 0.5, x))
except RuntimeError as error:
    print("with an argument too few:", str(error).splitlines()[0])
