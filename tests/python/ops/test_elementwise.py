"""Arithmetic: values, dtypes and strides of the CPU, whichever way an operator takes."""

import pytest
import torch

from .conftest import assert_equals_the_cpu, wide

pytestmark = pytest.mark.turns_on_memory

CALLS = {
    "x + 1": lambda x: x + 1,
    "x * 0.1": lambda x: x * 0.1,
    "1 - x": lambda x: 1 - x,
    "x / 3": lambda x: x / 3,
    "x + True": lambda x: x + True,
    "x - True": lambda x: x - True,
    "True - x": lambda x: True - x,
    "x.sub_(True)": lambda x: x.clone().sub_(True),
    "x * True": lambda x: x * True,
    "x / True": lambda x: x / True,
    "x + an integer between two floats": lambda x: x + (2**60 + 2**36 + 1),
    "x * a large negative integer": lambda x: x * -(2**60 + 2**36 + 1),
    "x * 2j": lambda x: x * 2j,
    "x + 1.5 * 2": lambda x: torch.add(x, 1.5, alpha=2),
    "x * a scalar tensor": lambda x: x * torch.tensor(2.5),
    "x + an integer tensor": lambda x: x + torch.tensor(2),
    "x + x": lambda x: x + x,
    "x * x.t()": lambda x: x[..., :2] * x[..., :2].t() if x.dim() == 2 else x * x,
    "x - one row": lambda x: x - x[:1] if x.dim() else x - x,
    "x * another dtype": lambda x: x * x.double() if not x.is_complex() else x * x.cdouble(),
    "x.add_(1)": lambda x: x.clone().add_(1),
    "x.mul_(x)": lambda x: x.clone().mul_(x),
    "x.sub_(one row)": lambda x: x.clone().sub_(x[:1] if x.dim() else x),
    "-x": lambda x: -x,
    "relu(x)": lambda x: torch.relu(x),
    "relu_(x)": lambda x: torch.relu_(x.clone()),
    "every second of x": lambda x: x[..., ::2] + 1 if x.dim() else x + 1,
    "sigmoid of an integer": lambda x: torch.sigmoid(x.real.int()),
    "maximum": lambda x: torch.maximum(x.real, torch.tensor(1.0)),
    "the imaginary part of the conjugate": lambda x: x.cfloat().conj().imag + x.real.float(),
}
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.cfloat]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 3)])
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_equals_the_cpu(call, dtype, shape):
    x = wide(*shape, dtype=dtype)
    assert_equals_the_cpu(lambda on: call(on(x)))


def test_both_paths_wait_for_the_stream():
    x = torch.zeros(1 << 20, device="acme")
    ones = torch.ones(1 << 20, device="acme")
    for _ in range(20):
        x.copy_(ones)
        assert (x + 1)[-1].item() == 2
        x.zero_()
        assert (x + 1)[0].item() == 1


def test_in_place_cannot_grow():
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.zeros(1, device="acme").add_(torch.zeros(3, device="acme"))
