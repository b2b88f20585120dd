"""Every elementwise operator and reduction of PyTorch's has a portable kernel, or a reason not to.

PyTorch's headers list them in two ways: structured classes that are TensorIterators, and dispatch
stubs, the tables of loops by device type, that take one.
"""

import re
from pathlib import Path

import pytest
import torch

pytestmark = pytest.mark.turns_on_kernels

HEADERS = Path(torch.__file__).parent / "include/ATen"

# Stubs, without their ending _stub, that are not called as their operator.
OPERATORS = {
    "GeluBackwardKernel": "gelu_backward",
    "GeluKernel": "gelu",
    "add_clamp": "_add_relu",
    "and": "all",
    "clamp_max_scalar": "clamp_max",
    "clamp_min_scalar": "clamp_min",
    "clamp_scalar": "clamp",
    "div_floor": "div",
    "div_true": "div",
    "div_trunc": "div",
    "fake_quant_grad_learnable_channel": "_fake_quantize_learnable_per_channel_affine_backward",
    "fake_quant_grad_learnable_tensor": "_fake_quantize_learnable_per_tensor_affine_backward",
    "fake_quant_per_channel_cachemask": "fake_quantize_per_channel_affine_cachemask",
    "huber": "huber_loss",
    "huber_backward": "huber_loss_backward",
    "index_put": "_index_put_impl_",
    "lerp_kernel_scalar_weight": "lerp",
    "lerp_kernel_tensor_weight": "lerp",
    "lshift": "bitwise_left_shift",
    "max_elementwise": "maximum",
    "max_values": "amax",
    "min_elementwise": "minimum",
    "min_values": "amin",
    "mse": "mse_loss",
    "mse_backward": "mse_loss_backward",
    "or": "any",
    "pow_tensor_scalar": "pow",
    "pow_tensor_tensor": "pow",
    "powsum": "linalg__powsum",
    "prelu": "_prelu_kernel",
    "prelu_backward": "_prelu_kernel_backward",
    "random_from_to": "random_",
    "random_full_64_bits_range": "random_",
    "renorm_scale_factor": "renorm",
    "round_decimals": "round",
    "rshift": "bitwise_right_shift",
    "shrink_backward": "hardshrink_backward",
    "smooth_l1": "smooth_l1_loss",
    "smooth_l1_backward": "smooth_l1_loss_backward",
    "std_var": "std",
    "trigamma": "polygamma",
    "where_kernel": "where",
    "xor_sum": "hash_tensor",
}

# Stubs and structured classes without a kernel, and why.
WITHOUT_A_KERNEL = {
    "_compute_linear_combination": "linear algebra: the exponential of a matrix",
    "complex": "complex numbers",
    "index_put_kernel_quantized": "quantized tensors",
    "kaiser_window": "made by the CPU, once, and copied (ops/own/windows.cpp)",
    "masked_fill_kernel_quantized": "quantized tensors",
    "masked_scatter": "needs a scan of the mask",
    "masked_select": "the host has to know the size of the result",
    "masked_select_serial": "the host has to know the size of the result",
    "polar": "complex numbers",
    "unpack_pivots": "linear algebra: an LU decomposition",
}

ADVICE = (
    "write a body (backend_template/portable/kernels/elementwise), "
    "or add it to WITHOUT_A_KERNEL with a reason"
)


@pytest.fixture
def served(on_device) -> set[str]:
    """The overloads that portable kernels serve: "add.Tensor"."""
    from torch.acme._outback import operators

    every = operators.providers().items()
    return {name.removeprefix("aten::") for name, by in every if by == "portable"}


def stubs() -> dict[str, str]:
    """The stubs that take a TensorIterator, and the headers that declare them."""
    found = {}
    for header in sorted((HEADERS / "native").rglob("*.h")):
        text = re.sub(r"//[^\n]*", "", header.read_text())
        declared = re.finditer(r"DECLARE_DISPATCH\(([^;]*?),\s*(\w+)\s*\)\s*;?[ \t]*$", text, re.M)
        for function, name in (one.groups() for one in declared):
            alias = re.search(rf"using\s+{re.escape(function.strip())}\s*=([^;]*);", text)
            if "TensorIterator" in (alias[1] if alias else function):
                found[name.removesuffix("_stub")] = header.name
    return found


def structured_classes() -> dict[str, str]:
    """The overloads whose class is a TensorIterator, "add.Tensor", and their headers."""
    found = {}
    for header in sorted((HEADERS / "ops").glob("*_meta.h")):
        operator = header.name.removesuffix("_meta.h")
        pattern = r"struct TORCH_API structured_(\w+) : public TensorIteratorBase"
        for name in re.findall(pattern, header.read_text()):
            overload = name.removeprefix(operator).removeprefix("_")
            found[f"{operator}.{overload}" if overload else operator] = header.name
    return found


def test_headers_list_what_they_are_known_to():
    assert {
        "add": "BinaryOps.h",
        "round_decimals": "UnaryOps.h",
        "take": "IndexKernel.h",
    }.items() <= (stubs().items())
    assert len(stubs()) > 150
    assert {"add.Tensor", "round.decimals", "special_airy_ai"} <= structured_classes().keys()
    assert len(structured_classes()) > 100


def test_structured_classes_have_kernels(served):
    missing = {
        name: header
        for name, header in structured_classes().items()
        if name not in WITHOUT_A_KERNEL and name not in served
    }
    assert not missing, f"{missing}: {ADVICE}"


def test_stubs_have_kernels(served):
    operators = {name.split(".")[0] for name in served}

    def is_served(stub: str) -> bool:
        name = OPERATORS.get(stub, stub)
        return not {name, f"{name}_", f"special_{name}"}.isdisjoint(operators)

    missing = {
        stub: header
        for stub, header in stubs().items()
        if stub not in WITHOUT_A_KERNEL and not is_served(stub)
    }
    assert not missing, f"{missing}: {ADVICE}, or its operator to OPERATORS"
    outdated = [stub for stub in WITHOUT_A_KERNEL if is_served(stub)]
    assert not outdated, f"{outdated} have kernels now: delete them from WITHOUT_A_KERNEL"
