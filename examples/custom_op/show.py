"""Runs each kernel of this backend, compares it with the CPU and prints what ran.

PYTHONPATH=<build>/python_kernels python show.py
"""

import torch  # finds the backend, and loads it

calls = torch.ops.acme.calls


def show(what: str, kernel: str, on_device, on_cpu) -> None:
    before = calls(kernel)
    result = on_device()
    torch.testing.assert_close(result.cpu(), on_cpu())
    print(f"{what:<44} {kernel} ran {calls(kernel) - before} x, {result.dtype} on {result.device}")


def main() -> None:
    torch.manual_seed(0)
    x, row, counts = torch.randn(3, 4), torch.randn(4), torch.arange(4)
    dx, drow, dcounts = x.to("acme"), row.to("acme"), counts.to("acme")
    show("x * row", "mul", lambda: dx * drow, lambda: x * row)
    show("x * integers", "mul", lambda: dx * dcounts, lambda: x * counts)
    show("x.t() * 2.5", "mul", lambda: dx.t() * 2.5, lambda: x.t() * 2.5)
    show("x.mul_(row)", "mul", lambda: dx.clone().mul_(drow), lambda: x * row)
    show("x @ x.t()", "mm", lambda: dx @ dx.t(), lambda: x @ x.t())
    out = torch.empty(0, device="acme")
    show("torch.mm(..., out=)", "mm", lambda: torch.mm(dx, dx.t(), out=out), lambda: x @ x.t())

    def silu(t):
        return torch.ops.acme.scaled_silu(t, 2.0)

    def reference(t):
        return 2 * torch.nn.functional.silu(t)

    name = "scaled_silu"
    show("acme::scaled_silu", name, lambda: silu(dx), lambda: reference(x))
    grad = torch.func.grad(lambda t: silu(t).sum())
    show("its derivative", name, lambda: grad(dx), lambda: torch.func.grad(sum_of(reference))(x))
    compiled = torch.compile(silu, backend="aot_eager", fullgraph=True)
    show("in torch.compile(fullgraph=True)", name, lambda: compiled(dx), lambda: reference(x))
    half = dx.bfloat16()
    with torch.autocast("acme", dtype=torch.bfloat16):
        show(
            "of bfloat16, in autocast",
            name,
            lambda: silu(half),
            lambda: reference(half.cpu().float()),
        )
    check(torch.ops.acme.scaled_silu, dx)


def check(operator, x: torch.Tensor) -> None:
    """What PyTorch itself finds of an operator."""
    x = x.double().requires_grad_()
    print("gradcheck:", torch.autograd.gradcheck(lambda x: operator(x, 2.0), x))
    print("gradgradcheck:", torch.autograd.gradgradcheck(lambda x: operator(x, 2.0), x))
    # test_autograd_registration knows CPU, CUDA and XPU only.
    tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    for test, found in torch.library.opcheck(operator, (x, 2.0), test_utils=tests).items():
        print(f"opcheck, {test}: {found}")


def sum_of(function):
    return lambda t: function(t).sum()


if __name__ == "__main__":
    main()
