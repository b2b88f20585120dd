"""Where special functions are tested, and how large a value counts next to their zeros."""

import math

import torch
from torch import special

SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan)


def _both_signs(x):
    return torch.cat([-x.flip(0), x])


def _line(low, high, count):
    return torch.linspace(low, high, count, dtype=torch.float64)


def _powers(low, high, count):
    return torch.logspace(low, high, count, dtype=torch.float64)


# The interval that one argument is taken from, if not all numbers, with the reason.
_LIMITS = {
    "bessel": (-99, 99),  # for larger ones the reference rounds x - pi / 4
    "airy_ai": (-300, 300),  # as above, 2/3 |x|^1.5
    "digamma": (-60, math.inf),  # the reference has tan(pi x)
    "trigamma": (-60, 1e30),  # the reference, zeta(2, x), is NaN at infinity
    "i0": (-700, 700),  # the reference overflows with exp(x), where i0 does not
    "i1": (-700, 700),
    "modified_bessel_i": (-700, 700),
    "modified_bessel_k": (1e-300, 700),  # the reference is NaN where x / 2 is 0
    "scaled_modified_bessel_k": (1e-300, math.inf),
}


def of_one(name, dtype):
    """Powers of ten over the whole range, a line over the part with all changes, integers, halves,
    numbers next to 1 and to -1, the smallest number, and what is no number."""
    tiny, large = (-45, 38) if dtype == torch.float32 else (-323, 300)
    x = torch.cat(
        [
            _both_signs(_powers(tiny, large, 800)),
            _both_signs(_powers(-4, 4, 800)),
            _line(-60, 60, 4801),
            _line(-1, 1, 1001),
            torch.arange(-100, 101) / 2,
            _both_signs(1 - _powers(-16, -0.1, 200)),
            torch.tensor(SPECIAL),
        ]
    )
    x = x.to(dtype).double()
    for prefix, (low, high) in _LIMITS.items():
        if name.startswith(prefix):
            x = x[(x >= low) & (x <= high) | (x == 0) | x.isnan()]
    return x.to(dtype)


def of_two(name, dtype):
    if "polynomial" in name:
        low = 0 if name.startswith("laguerre") else -3
        high = 30 if name.startswith("laguerre") else 3
        first = torch.cat([_line(low, high, 181), 1 - _powers(-9, -1, 40), torch.zeros(1)])
        second = torch.cat([torch.arange(-2, 31), torch.tensor([0.7, 6.5, 29.9])])
    elif name == "polygamma":
        first = torch.arange(13)
        second = torch.cat([_powers(-2, 2, 200), _line(-10, 10, 401), torch.tensor(SPECIAL[:2])])
    elif name == "zeta":
        first = torch.cat([1 + _powers(-3, 1, 40), torch.arange(-1, 31), torch.tensor([math.nan])])
        second = torch.cat([_powers(-1, 6, 100), _line(-10, 10, 401)])
    elif name in ("igamma", "igammac"):
        near = torch.cat([_powers(-3, 4, 120), torch.arange(1, 40) / 2])
        first = second = torch.cat([near, torch.tensor([200, 200.1, 260, 0, -1, math.inf])])
    else:
        first = second = torch.cat([_both_signs(_powers(-30, 30, 60)), torch.tensor(SPECIAL)])
    grid = torch.meshgrid(first.to(dtype), second.to(dtype), indexing="ij")
    return [each.flatten() for each in grid]


def _factorial(n):
    return (n + 1).lgamma().exp()


def _sums_of_zeta(x, q):
    """Both sums that zeta has below 0, without signs."""
    part = torch.where(q < 0, q - q.floor(), 1)
    x = torch.where(x > 1, x, 2)
    return torch.where(q < 0, special.zeta(x, part) + special.zeta(x, 1 - part), 0)


def least_size(name, value, *x):
    """Errors are told in parts of the value, or of this if it is larger."""
    if name.startswith("bessel"):
        return (2 / math.pi / x[0].abs()).sqrt().clamp(max=1)
    if name == "airy_ai":
        # The phase of the oscillation and the exponent of the decay have errors of their own size.
        phase = 1 + x[0].abs() ** 1.5
        return torch.where(x[0] < 0, 0.5 * phase ** (5 / 6), value.abs() * phase)
    if name in ("sinc", "spherical_bessel_j0"):
        return 1 / x[0].abs().clamp(min=1)
    if name == "digamma":
        return torch.where(x[0] < 0, 3, 0.5)
    if name.startswith("igamma"):
        # The exponent has an error of its size; the reference is 0 for results below 1e-307.
        return (value * (1 - value.clamp(min=1e-300).log())).clamp(min=1e-290)
    if name == "zeta":
        return _sums_of_zeta(*x)
    if name == "polygamma":
        sums = _factorial(x[0]) * _sums_of_zeta(x[0] + 1, x[1])
        return torch.where(x[0] == 0, 3, sums)
    degree = x[1].clamp(min=0) if "polynomial" in name else 0
    if name == "hermite_polynomial_h":
        return (2**degree * _factorial(degree)).sqrt()
    if name == "hermite_polynomial_he":
        return _factorial(degree).sqrt()
    if name == "laguerre_polynomial_l":
        return (x[0] / 2).exp()
    return torch.full_like(value, 1 if "polynomial" in name else 0)
