"""Kernels in the language of the device's driver, as a custom operator with a derivative."""

import subprocess
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
import torch_acme  # noqa: F401  (the backend)

FOLDER = Path(__file__).resolve().parent
HEADERS = FOLDER.parents[1] / "backend_template/include"
ITEMS = 64  # in a group


def source() -> str | bytes:
    """What the device's driver compiles: OpenCL C, or for the host what its compiler makes."""
    try:
        torch.acme.compile_kernel(b"?", "?", language="host")
    except ValueError:  # the device takes no modules for the host
        return (FOLDER / "src/scaled_silu.cl").read_text()
    except RuntimeError:  # it does, and these bytes are none
        pass
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "scaled_silu.so")
        compiler = ["c++", "-std=c++17", "-O2", "-shared", "-fPIC", "-I", HEADERS, "-o", made]
        subprocess.run([*compiler, FOLDER / "src/scaled_silu.cpp"], check=True)
        return made.read_bytes()


code = source()
forward = torch.acme.compile_kernel(code, "scaled_silu")
backward = torch.acme.compile_kernel(code, "scaled_silu_backward")


def groups(tensor: torch.Tensor) -> int:
    return -(-tensor.numel() // ITEMS)


@torch.library.custom_op("example::scaled_silu", mutates_args=())
def scaled_silu(x: torch.Tensor, scale: float) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    forward(groups(x), ITEMS, (out, x, scale, x.numel()))
    return out


@torch.library.custom_op("example::scaled_silu_backward", mutates_args=())
def scaled_silu_backward(grad: torch.Tensor, x: torch.Tensor, scale: float) -> torch.Tensor:
    grad, x = grad.contiguous(), x.contiguous()
    out = torch.empty_like(x)
    backward(groups(x), ITEMS, (out, grad, x, scale, x.numel()))
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
    forward(groups(x), ITEMS, (x, x, 0.5))
except RuntimeError as error:
    print("with an argument too few:", str(error).splitlines()[0])
