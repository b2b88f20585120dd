"""Judges by float64 on the CPU, where the device and the CPU differ: which of them is nearer to it.

A kernel may be right and differ from the CPU's, since the CPU's rounds as well. So what differs is
computed once more on the CPU, with every argument in float64 (complex128), and the device has to be
as near to that as the CPU is, or within the tolerance.
"""

from __future__ import annotations

import torch
from torch.testing._comparison import get_tolerances

WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}


def widened(tensor: torch.Tensor) -> torch.Tensor:
    """In float64 or complex128, with the same requires_grad, where it is of a narrower float."""
    wider = WIDER.get(tensor.dtype)
    if wider is None:
        return tensor
    with torch.no_grad():
        wide = tensor.detach().to(wider)
    return wide.requires_grad_(tensor.requires_grad)


def is_as_near(
    actual: torch.Tensor,
    expected: torch.Tensor,
    reference: object,
    rtol: float | None = None,
    atol: float | None = None,
) -> bool:
    """Whether the device's `actual` is as near to `reference` as the CPU's `expected` is, or within
    the tolerance of `expected`: its worst element, and how many are beyond the tolerance.

    The second keeps one element of the CPU's that is far off, as where it rounds to another whole
    number, from excusing all of the device's.
    """
    if not isinstance(reference, torch.Tensor) or actual.layout != torch.strided:
        return False
    if expected.dtype not in WIDER or reference.dtype != WIDER[expected.dtype]:
        return False
    if not actual.shape == expected.shape == reference.shape or actual.numel() == 0:
        return False
    # It is the largest number of its own dtype, and stands for that of the narrower one.
    if (reference.abs() == torch.finfo(reference.dtype).max).any():
        return False
    rtol, atol = get_tolerances(expected, rtol=rtol, atol=atol)
    mine = _errors(actual, reference, rtol, atol)
    cpus = _errors(expected, reference, rtol, atol)
    # Where the CPU has an infinity or a NaN that is none, only what it says excuses the device.
    agrees = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
    mine = mine.masked_fill(agrees & ~cpus.isfinite(), 0.0)
    cpus = cpus.masked_fill(~cpus.isfinite(), 0.0)
    is_worse = mine.max() > max(1.0, cpus.max().item())
    return not is_worse and int((mine > 1).sum()) <= int((cpus > 1).sum())


def _errors(found: torch.Tensor, reference: torch.Tensor, rtol: float, atol: float) -> torch.Tensor:
    """Of each element how far it is off, in tolerances; infinite where one is no number."""
    allowed = atol + rtol * reference.abs()
    off = (found.to(reference.dtype) - reference).abs()
    errors = torch.where(off == 0, 0.0, off / allowed).nan_to_num(nan=torch.inf, posinf=torch.inf)
    # What the narrower dtype cannot hold is an infinity in it.
    rounded = reference.to(found.dtype)
    is_right = torch.isclose(found, rounded, rtol=0, atol=0, equal_nan=True)
    return errors.masked_fill(is_right, 0.0)
