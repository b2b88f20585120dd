"""acme::scaled_silu of the scaffold, the operator that every new project begins with."""

import pytest
import torch
from torch.nn.functional import silu

pytestmark = pytest.mark.any_runtime


@pytest.fixture
def scaled_silu():
    try:
        return torch.ops.acme.scaled_silu
    except AttributeError:
        pytest.skip("this backend is not made of the scaffold's sources")


def test_it_computes_what_it_says(scaled_silu):
    x = torch.randn(3, 4)
    torch.testing.assert_close(scaled_silu(x.acme(), 2.0).cpu(), 2 * silu(x))
    assert scaled_silu(x.to("meta")).shape == x.shape


def test_its_derivative_is_right(scaled_silu):
    x = torch.randn(2, 3, dtype=torch.float64).acme().requires_grad_()
    assert torch.autograd.gradcheck(scaled_silu, (x, 1.5))
    assert torch.autograd.gradgradcheck(scaled_silu, (x, 1.5))
