"""Loads the library, compares acme::swiglu with PyTorch's operators on the CPU, and prints what was
compared.

python show.py build/swiglu.so
"""

import sys

import torch  # finds the backend, and loads it

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def load(library: str) -> None:
    torch.acme.synchronize()  # the backend has loaded libcudart, and the library takes the same one
    torch.ops.load_library(library)


def swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return torch.ops.acme.swiglu(gate, up)


def reference(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(gate) * up


def results(function, gate, up, grad) -> list[torch.Tensor]:
    """What it returns, and the gradients of both arguments, on the CPU."""
    gate, up = gate.detach().requires_grad_(), up.detach().requires_grad_()
    out = function(gate, up)
    out.backward(grad)
    return [each.detach().cpu() for each in (out, gate.grad, up.grad)]


def compare(what: str, gate, up, grad, function=swiglu) -> None:
    on_device = results(function, *(each.to("acme") for each in (gate, up, grad)))
    torch.testing.assert_close(on_device, results(reference, gate, up, grad))
    print(f"{what:<38} as on the CPU, derivative too")


def refused(*arguments: torch.Tensor) -> None:
    try:
        swiglu(*arguments)
    except RuntimeError as error:
        print("refused:", str(error).splitlines()[0])
    else:
        raise AssertionError("it was not refused")


def main() -> None:
    load(sys.argv[1])
    torch.manual_seed(0)
    x = torch.randn(3, 300, 7)  # gate, up and the gradient of the result
    for dtype in DTYPES:
        compare(f"{dtype}", *x.to(dtype))
    compare("transposed", *x.transpose(1, 2))
    compare("no elements", *x[:, :0])
    compiled = torch.compile(swiglu, backend="aot_eager", fullgraph=True)
    compare("torch.compile(fullgraph=True)", *x, function=compiled)

    gate, up, _ = x.acme()
    refused(gate, up[0])
    refused(gate, up.half())
    refused(gate, up.cpu())
    check(*x[:2, :4, :2].double().acme())


def check(gate: torch.Tensor, up: torch.Tensor) -> None:
    """What PyTorch itself finds of the operator."""
    arguments = (gate.requires_grad_(), up.requires_grad_())
    print("gradcheck:", torch.autograd.gradcheck(swiglu, arguments))
    print("gradgradcheck:", torch.autograd.gradgradcheck(swiglu, arguments))
    # test_autograd_registration knows CPU, CUDA and XPU only.
    tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    operator = torch.ops.acme.swiglu
    for test, found in torch.library.opcheck(operator, arguments, test_utils=tests).items():
        print(f"opcheck, {test}: {found}")


if __name__ == "__main__":
    main()
