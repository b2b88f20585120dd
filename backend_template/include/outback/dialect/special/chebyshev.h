// Chebyshev polynomials of the four kinds. The degree n is a float, of which PyTorch takes the
// integer part; polynomials of negative degree are 0. Read by special.h.

// The degree. Infinities and NaN count as negative, as in PyTorch on x86.
DEVICE i64 FN(special_degree)(REAL n) {
  return fabs(n) < NUM(9.0e18) ? (i64)n : (i64)-1;
}

// 1 for even degrees, -1 for odd ones: the sign by which P(-x) differs from P(x).
DEVICE REAL FN(special_parity)(i64 degree) {
  return (degree & 1) == 0 ? (REAL)1 : (REAL)-1;
}

// P_n by the recurrence P_k+1 = 2 x P_k - P_k-1 of all four kinds (DLMF 18.9.1). P_0 is 1, and P_1
// is `first`.
DEVICE REAL FN(special_chebyshev_recurrence)(REAL x, i64 degree, REAL first) {
  if (degree == 0) return 1;
  REAL before = 1, value = first;
  for (i64 k = 2; k <= degree && value == value; ++k) {
    const REAL next = (x + x) * value - before;
    before = value;
    value = next;
  }
  return value;
}

// Whether to compute the value as a sine or cosine, as PyTorch does for high degrees.
DEVICE i32 FN(special_is_angle)(REAL x, i64 degree) {
  return degree > 6 && fabs(x) < 1;
}

// The third kind for x >= 0, and so the fourth for x <= 0: cos((n + 1/2) t) / cos(t / 2), where t
// is acos(x) (DLMF 18.5.3).
DEVICE REAL FN(special_chebyshev_cosine)(REAL x, i64 degree) {
  return cos(((REAL)degree + NUM(0.5)) * acos(x)) / sqrt(NUM(0.5) * (1 + x));
}

// The fourth kind for x >= 0, and so the third for x <= 0: sin((n + 1/2) t) / sin(t / 2) (DLMF
// 18.5.4).
DEVICE REAL FN(special_chebyshev_sine)(REAL x, i64 degree) {
  return sin(((REAL)degree + NUM(0.5)) * acos(x)) / sqrt(NUM(0.5) * (1 - x));
}

// The first kind: cos(n t).
DEVICE REAL FN(chebyshev_polynomial_t)(REAL x, REAL n) {
  const i64 degree = FN(special_degree)(n);
  if (degree < 0) return 0;
  const REAL sign = x < 0 ? FN(special_parity)(degree) : (REAL)1;
  if (fabs(x) == 1) return sign;
  if (FN(special_is_angle)(x, degree)) return sign * cos((REAL)degree * acos(fabs(x)));
  return FN(special_chebyshev_recurrence)(x, degree, x);
}

// The second kind: sin((n + 1) t) / sin(t).
DEVICE REAL FN(chebyshev_polynomial_u)(REAL x, REAL n) {
  const i64 degree = FN(special_degree)(n);
  if (degree < 0) return 0;
  const REAL sign = x < 0 ? FN(special_parity)(degree) : (REAL)1;
  const REAL size = fabs(x), at_one = (REAL)degree + 1;
  if (size == 1) return sign * at_one;
  if (FN(special_is_angle)(x, degree)) {
    return sign * sin(at_one * acos(size)) / sqrt((1 - size) * (1 + size));
  }
  return FN(special_chebyshev_recurrence)(x, degree, x + x);
}

// The third kind.
DEVICE REAL FN(chebyshev_polynomial_v)(REAL x, REAL n) {
  const i64 degree = FN(special_degree)(n);
  if (degree < 0) return 0;
  const REAL sign = FN(special_parity)(degree);
  if (x == 1) return 1;
  if (x == -1) return sign * (2 * (REAL)degree + 1);
  if (FN(special_is_angle)(x, degree)) {
    return x < 0 ? sign * FN(special_chebyshev_sine)(-x, degree)
                 : FN(special_chebyshev_cosine)(x, degree);
  }
  return FN(special_chebyshev_recurrence)(x, degree, x + x - 1);
}

// The fourth kind.
DEVICE REAL FN(chebyshev_polynomial_w)(REAL x, REAL n) {
  const i64 degree = FN(special_degree)(n);
  if (degree < 0) return 0;
  const REAL sign = FN(special_parity)(degree);
  if (x == 1) return 2 * (REAL)degree + 1;
  if (x == -1) return sign;
  if (FN(special_is_angle)(x, degree)) {
    return x < 0 ? sign * FN(special_chebyshev_cosine)(-x, degree)
                 : FN(special_chebyshev_sine)(x, degree);
  }
  return FN(special_chebyshev_recurrence)(x, degree, x + x + 1);
}

// The shifted ones, from 0 to 1, are those at 2 x - 1, which is rounded as in PyTorch.
DEVICE REAL FN(shifted_chebyshev_polynomial_t)(REAL x, REAL n) {
  return FN(chebyshev_polynomial_t)(x + x - 1, n);
}
DEVICE REAL FN(shifted_chebyshev_polynomial_u)(REAL x, REAL n) {
  return FN(chebyshev_polynomial_u)(x + x - 1, n);
}
DEVICE REAL FN(shifted_chebyshev_polynomial_v)(REAL x, REAL n) {
  return FN(chebyshev_polynomial_v)(x + x - 1, n);
}
DEVICE REAL FN(shifted_chebyshev_polynomial_w)(REAL x, REAL n) {
  return FN(chebyshev_polynomial_w)(x + x - 1, n);
}
