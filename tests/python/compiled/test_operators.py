"""Operators in PyTorch's samples, compiled by kernels in the dialect: the CPU's answers, and no
operators but those that fallbacks.py has a reason for."""

from pathlib import Path

import pytest
import torch
from torch.testing._internal import common_methods_invocations

from . import fallbacks, operators
from .conftest import needs_portable_kernels

ENTRIES = Path(__file__).with_name("entries.txt")
pytestmark = [
    pytest.mark.turns_on_kernels,
    pytest.mark.usefixtures("compiler"),
    needs_portable_kernels,
]

# Of the operators that kernels compute alone, forward and backward: one of each kind of what is
# generated, and further ones for a long run.
FEW, MORE = (part.split() for part in ENTRIES.read_text().split("\n\n"))
# Beside operators of the device.
WITH_OPERATORS = ("nn.functional.conv2d", "nn.functional.scaled_dot_product_attention", "sort")


def outcome(name: str, dtype: torch.dtype = torch.float32) -> operators.Outcome:
    entries = {operators.name_of(each): each for each in common_methods_invocations.op_db}
    found = operators.outcome_of(entries[name], dtype, backward=dtype == torch.float32)
    assert found.kind == "right", found.detail
    return found


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(each, marks=pytest.mark.slow) for each in MORE)]
)
def test_kernels_compute_it(name):
    found = outcome(name)
    assert not found.fallbacks
    # Of further ones some torch's first sample needs none.
    assert found.kernels or name not in FEW


@pytest.mark.parametrize("name", WITH_OPERATORS)
def test_operators_of_the_device_are_beside_them(name):
    found = outcome(name)
    assert found.fallbacks and not fallbacks.without_reason(found.fallbacks)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("softmax", torch.bfloat16),
        ("nn.functional.layer_norm", torch.float16),
        ("floor_divide", torch.int64),
        ("bitwise_right_shift", torch.int8),
        ("any", torch.bool),
        ("cumsum", torch.float64),
    ],
)
def test_other_dtypes(name, dtype):
    assert outcome(name, dtype).kernels


def test_the_list_of_reasons_can_say_no():
    assert fallbacks.without_reason(["aten.relu.default", "mm"]) == ["aten.relu.default"]
    assert fallbacks.without_reason(["aten.mul.Tensor"]) == ["aten.mul.Tensor"]
    assert not fallbacks.without_reason(["aten.mul.Tensor", "aten.view_as_real.default"])
