"""What special functions are to give, in float64: what torch.special gives on the CPU where that is
good to the last digits, and other formulas where it is not."""

import math
from functools import partial

import torch
from torch import special


def _trapezoid(exponent, weights, x):
    """The sum of weights exp(exponent(x)), for some x at a time. It is the integral of an analytic
    function that vanishes at both ends of a path."""
    return torch.cat([exponent(part[:, None]).exp() @ weights for part in x.split(256)])


def _hankel(order, x):
    """J + iY for x from 1 to 100, by an integral (DLMF 10.9.18) on a path through i pi / 2."""
    u = torch.arange(-6, 6, 0.02, dtype=torch.float64)
    path = torch.complex(u, math.pi / 2 * (1 + u.tanh()))
    slope = torch.complex(torch.ones_like(u), math.pi / 2 / u.cosh().square())
    rate, weights = path.sinh(), slope * (-order * path).exp() * (0.02 / math.pi)
    return _trapezoid(lambda x: x * rate, weights, x) / 1j


def _airy(x):
    """Ai for x from -40 to 0, by an integral (DLMF 9.5.4) on a straight line."""
    u = torch.arange(-19, 19, 0.01, dtype=torch.float64)
    t = torch.complex(torch.full_like(u, 0.15), u)
    weights = torch.full_like(t, 0.01 / math.tau)
    return _trapezoid(lambda x: t**3 / 3 - x * t, weights, x).real


def _within(where, values, x, otherwise):
    otherwise[where] = values(x[where])
    return otherwise


# torch has lost the leading 1 of some denominators of these five: it is off by up to 7e-6.
def bessel_j0(x):
    where = (x.abs() > 1) & (x.abs() < 100)
    return _within(where, lambda x: _hankel(0, x.abs()).real, x, special.bessel_j0(x))


def bessel_j1(x):
    where = (x.abs() > 1) & (x.abs() < 100)
    return _within(where, lambda x: _hankel(1, x.abs()).real * x.sign(), x, special.bessel_j1(x))


def bessel_y0(x):
    return _within((x > 1) & (x < 100), lambda x: _hankel(0, x).imag, x, special.bessel_y0(x))


def bessel_y1(x):
    return _within((x > 1) & (x < 100), lambda x: _hankel(1, x).imag, x, special.bessel_y1(x))


def airy_ai(x):
    return _within((x > -40) & (x < -2), _airy, x, special.airy_ai(x))


def _fraction(x):
    return x - x.round()


def digamma(x):
    """torch rounds pi x, which counts next to the poles below 0."""
    reflected = special.digamma(1 - x) - math.pi / (math.pi * _fraction(x)).tan()
    return torch.where((x < 0) & (x != x.round()), reflected, special.digamma(x))


def trigamma(x):
    """torch.polygamma(1, x) is off by up to 5e-10, and finite at the poles below 0."""
    return special.zeta(torch.full_like(x, 2), x)


def erfinv(y):
    """The two steps of Newton's method in torch leave few digits near 1."""
    tail = -special.ndtri((1 - y.abs()) / 2) * math.sqrt(0.5) * y.sign()
    return torch.where(y.abs() > 0.5, tail, special.erfinv(y))


def _exp_square(sign, x):
    """exp(sign x^2). The square of `near`, which has 8 bits, is exact."""
    near = x.clamp(-40, 40).bfloat16().double()
    return (sign * near.square()).exp() * (sign * (x - near) * (x + near)).exp()


def erfcx(x):
    """torch rounds x^2, which counts in the exponent."""
    return torch.where(x < -1, 2 * _exp_square(1, x) - special.erfcx(-x), special.erfcx(x))


def _tail(x):
    """The integral of the normal distribution from x > 0 to infinity."""
    return special.erfcx(x * math.sqrt(0.5)) * _exp_square(-0.5, x) / 2


def ndtr(x):
    """torch's is (1 + erf) / 2: without digits far below 0."""
    return torch.where(x < -1, _tail(-x), special.erfc(-x * math.sqrt(0.5)) / 2)


def log_ndtr(x):
    """torch rounds x^2 on the right, where the value is small."""
    return torch.where(x > 1, torch.log1p(-_tail(x)), special.log_ndtr(x))


def sinc(x):
    """torch rounds pi x."""
    return special.spherical_bessel_j0(math.pi * _fraction(x)) * torch.where(
        x.round() == 0, 1, (1 - 2 * (x.round() % 2)) * _fraction(x) / x
    )


def polygamma(n, x):
    result = torch.empty_like(x)
    for order in n.unique().tolist():
        of_order = {0: digamma, 1: trigamma}.get(order, partial(special.polygamma, int(order)))
        result[n == order] = of_order(x[n == order])
    return result


# acos loses digits next to -1, but not next to 1.
def _mirrored(same, mirror):
    def polynomial(x, n):
        sign = 1 - 2 * (n.trunc() % 2).abs()
        return torch.where(x < 0, sign * mirror(-x, n), same(x, n))

    return polynomial


chebyshev_polynomial_t = _mirrored(*[special.chebyshev_polynomial_t] * 2)
chebyshev_polynomial_u = _mirrored(*[special.chebyshev_polynomial_u] * 2)
chebyshev_polynomial_v = _mirrored(special.chebyshev_polynomial_v, special.chebyshev_polynomial_w)
chebyshev_polynomial_w = _mirrored(special.chebyshev_polynomial_w, special.chebyshev_polynomial_v)
