// PyTorch's special functions in the dialect: digamma_f32(x), and digamma_f64(x) where HAS_F64 is
// defined. Include it after dialect.h, in kernels that call one of them.
//
//   special/elementary.h        entr, sinc, xlogy(x, y), xlog1py(x, y)
//   special/error.h             erfcx, ndtr, log_ndtr
//   special/quantile.h          ndtri, erfinv
//   special/gamma.h             digamma, trigamma, polygamma(n, x), zeta(x, q)
//   special/incomplete_gamma.h  igamma(a, x), igammac(a, x)
//   special/bessel.h            bessel_j0, bessel_j1, bessel_y0, bessel_y1, spherical_bessel_j0
//   special/modified_bessel.h   i0, i0e, i1, i1e; modified_bessel_i0, _i1, _k0, _k1 and
//                               scaled_modified_bessel_k0, _k1
//   special/airy.h              airy_ai
//   special/chebyshev.h         chebyshev_polynomial_t(x, n), _u, _v, _w, and the same shifted_...
//   special/polynomials.h       hermite_polynomial_h(x, n), hermite_polynomial_he,
//                               laguerre_polynomial_l, legendre_polynomial_p
//
// PyTorch's gammainc and gammaincc are igamma and igammac, and its psi is digamma.
//
// The text of a function is read twice: for f32, without any f64 in it, and for f64. In it
//
//   REAL               the type: f32 or f64
//   FN(name)           name_f32 or name_f64
//   NUM(1.5)           a constant of that type: 1.5f or 1.5
//   REAL_EPS           the distance from 1 to the next larger number
//   REAL_IS_F64        is defined for f64: for terms that f32 cannot see
//   POLY3(x, a, b, c)  a + b x + c x^2
//   CHEBYSHEV2(a, b)   two steps of Clenshaw's recurrence for a Chebyshev series, the highest
//                      coefficient first, in the variables y (twice the argument), b0, b1 and b2;
//                      0.5 (b0 - b2) is the sum, in which the last coefficient counts half
//
// Poles, infinities and NaN give PyTorch's values. But where PyTorch has an infinity or NaN because
// an intermediate result overflows or underflows, these functions have the value: i0_f32(90) is
// finite, and zeta(2, inf) is 0.
#ifndef OUTBACK_DIALECT_SPECIAL_H
#define OUTBACK_DIALECT_SPECIAL_H

#define FN(name) JOIN(name##_, REAL)

#define POLY1(x, a) NUM(a)
#define POLY2(x, a, ...) (NUM(a) + (x) * POLY1(x, __VA_ARGS__))
#define POLY3(x, a, ...) (NUM(a) + (x) * POLY2(x, __VA_ARGS__))
#define POLY4(x, a, ...) (NUM(a) + (x) * POLY3(x, __VA_ARGS__))
#define POLY5(x, a, ...) (NUM(a) + (x) * POLY4(x, __VA_ARGS__))
#define POLY6(x, a, ...) (NUM(a) + (x) * POLY5(x, __VA_ARGS__))
#define POLY7(x, a, ...) (NUM(a) + (x) * POLY6(x, __VA_ARGS__))
#define POLY8(x, a, ...) (NUM(a) + (x) * POLY7(x, __VA_ARGS__))
#define POLY9(x, a, ...) (NUM(a) + (x) * POLY8(x, __VA_ARGS__))
#define POLY10(x, a, ...) (NUM(a) + (x) * POLY9(x, __VA_ARGS__))
#define POLY11(x, a, ...) (NUM(a) + (x) * POLY10(x, __VA_ARGS__))
#define POLY12(x, a, ...) (NUM(a) + (x) * POLY11(x, __VA_ARGS__))
#define POLY13(x, a, ...) (NUM(a) + (x) * POLY12(x, __VA_ARGS__))
#define POLY14(x, a, ...) (NUM(a) + (x) * POLY13(x, __VA_ARGS__))
#define POLY15(x, a, ...) (NUM(a) + (x) * POLY14(x, __VA_ARGS__))
#define POLY16(x, a, ...) (NUM(a) + (x) * POLY15(x, __VA_ARGS__))
#define POLY17(x, a, ...) (NUM(a) + (x) * POLY16(x, __VA_ARGS__))

#define CHEBYSHEV1(a) b2 = b1, b1 = b0, b0 = y * b1 - b2 + NUM(a)
#define CHEBYSHEV2(a, b) CHEBYSHEV1(a), CHEBYSHEV1(b)
#define CHEBYSHEV3(a, b, c) CHEBYSHEV2(a, b), CHEBYSHEV1(c)

#define REAL f32
#define REAL_EPS 1.1920929e-7f
#define NUM(x) x##f
#include "outback/dialect/special/all.h"
#undef REAL
#undef REAL_EPS
#undef NUM

#ifdef HAS_F64
#define REAL f64
#define REAL_EPS 2.220446049250313e-16
#define REAL_IS_F64
#define NUM(x) x
#include "outback/dialect/special/all.h"
#undef REAL
#undef REAL_EPS
#undef REAL_IS_F64
#undef NUM
#endif

#undef FN
#undef POLY1
#undef POLY2
#undef POLY3
#undef POLY4
#undef POLY5
#undef POLY6
#undef POLY7
#undef POLY8
#undef POLY9
#undef POLY10
#undef POLY11
#undef POLY12
#undef POLY13
#undef POLY14
#undef POLY15
#undef POLY16
#undef POLY17
#undef CHEBYSHEV1
#undef CHEBYSHEV2
#undef CHEBYSHEV3
#endif
