"""What is as near to float64 as the CPU: single tensors, with the tolerances of their dtypes."""

from __future__ import annotations

import pytest
import torch

from conformance.opinfo.judging import is_as_near, widened

EXACT = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)


def off(*by: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (EXACT + torch.tensor(by, dtype=torch.float64)).to(dtype)


CPUS = off(0, 1e-3, 0, 0)


@pytest.mark.parametrize(
    ("device", "passes"),
    [
        (off(0, 0, 0, 0), True),
        (off(0, -9e-4, 0, 0), True),
        (off(9e-4, 0, 0, 0), False),  # of 1.0, which is more of it than of 2.0
        (off(0, 0, 0, 1.1e-3), True),  # of 4.0, which is less of it
        (off(0, -1.1e-3, 0, 0), False),
        (off(0, -9e-4, 9e-4, 0), False),  # one more element than the CPU
        (off(0, float("nan"), 0, 0), False),
        (off(0, float("inf"), 0, 0), False),
    ],
)
def test_the_worst_element_and_their_number_count(device, passes):
    assert is_as_near(device, CPUS, EXACT) is passes


def test_within_the_tolerance_of_float64_is_near_enough():
    """Two kernels that round to either side differ by more than each is off."""
    cpus, device = off(0, 8e-6, 0, 0), off(0, -8e-6, 0, 0)
    assert is_as_near(device, cpus, EXACT)
    assert not is_as_near(off(0, -2e-5, 0, 0), cpus, EXACT)
    assert is_as_near(off(0, -2e-5, 0, 0), cpus, EXACT, rtol=1e-4, atol=0.0)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_of_the_cpus_excuses_nothing_else(wrong):
    cpus = off(wrong, 0, 0, 0)
    assert is_as_near(off(0, 0, 0, 0), cpus, EXACT)
    assert is_as_near(off(wrong, 1e-6, 0, 0), cpus, EXACT)
    assert not is_as_near(off(0, 1e-3, 0, 0), cpus, EXACT)
    for other in (float("nan"), float("inf"), -float("inf"), -9.0):
        if str(other) != str(wrong):
            assert not is_as_near(off(other, 0, 0, 0), cpus, EXACT)


def test_an_infinite_complex_number_of_the_cpus_excuses_nothing_else():
    exact = EXACT + 1j
    cpus = exact.to(torch.complex64)
    cpus[0] = complex(torch.inf, 0)
    device = exact.to(torch.complex64)
    assert is_as_near(device, cpus, exact)
    device[1] = -900
    assert not is_as_near(device, cpus, exact)


def test_the_largest_number_of_float64_stands_for_no_other():
    """nan_to_num of an infinity is the largest number of each dtype."""
    found = torch.tensor([torch.inf, 1.0]).half()
    reference = found.double().nan_to_num()
    assert not is_as_near(found, found.nan_to_num(), reference)


def test_what_the_dtype_cannot_hold_is_an_infinity():
    large = torch.tensor([1e5, 1.0], dtype=torch.float64)
    device, cpus = torch.tensor([torch.inf, 1.0]).half(), torch.tensor([65504.0, 1.0]).half()
    assert is_as_near(device, cpus, large)


def test_complex_numbers_are_judged_by_complex128():
    exact = EXACT + 1j
    cpus = (exact + torch.tensor([0, 1e-3j, 0, 0])).to(torch.complex64)
    assert is_as_near(exact.to(torch.complex64), cpus, exact)
    assert not is_as_near((exact + 1e-3).to(torch.complex64), cpus, exact)


@pytest.mark.parametrize(
    ("device", "cpus", "reference"),
    [
        (EXACT.long(), EXACT.long() + 1, EXACT),
        (EXACT, EXACT + 1, EXACT),
        (off(0, 0, 0, 0), CPUS, None),
        (off(0, 0, 0, 0), CPUS, EXACT[:2]),
        (off(0, 0, 0, 0), CPUS, EXACT.float()),
        (off(0, 0, 0, 0).to_sparse(), CPUS.to_sparse(), EXACT.to_sparse()),
    ],
    ids=["integers", "float64", "none", "another shape", "no float64", "sparse"],
)
def test_what_cannot_be_judged_is_not_near(device, cpus, reference):
    assert not is_as_near(device, cpus, reference)


def test_narrow_floats_are_widened_with_their_gradient():
    wide = widened(torch.ones(2, dtype=torch.bfloat16, requires_grad=True))
    assert wide.dtype == torch.float64 and wide.requires_grad and wide.is_leaf
    assert widened(torch.ones(2, dtype=torch.complex64)).dtype == torch.complex128
    for kept in (torch.ones(2, dtype=torch.int64), EXACT):
        assert widened(kept) is kept
