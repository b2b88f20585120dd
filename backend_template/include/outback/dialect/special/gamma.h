// The derivatives of log(gamma(x)), and Hurwitz's zeta function. Read by special.h.

// The derivative of log(gamma(x)): by reflection below 0, by recurrence up to 10, and from there by
// Stirling's series, with B_2k / 2k as its coefficients (DLMF 5.5.2, 5.5.4, 5.11.2).
DEVICE REAL FN(digamma)(REAL x) {
  if (x == 0) return -1 / x;
  REAL result = 0;
  if (x < 0) {
    if (x == floor(x)) return (REAL)NOT_A_NUMBER;
    const REAL pi = NUM(3.14159265358979324);
    result = -pi / tan(pi * FN(special_fraction)(x));
    x = 1 - x;
  }
  REAL sum = 0;
  while (x < 10) {
    sum += 1 / x;
    x += 1;
  }
  const REAL z = 1 / (x * x);
  const REAL series =
      z * POLY7(z, 8.33333333333333333e-2, -8.33333333333333333e-3, 3.96825396825396825e-3,
                -4.16666666666666667e-3, 7.57575757575757576e-3, -2.10927960927960928e-2,
                8.33333333333333333e-2);
  return result + (log(x) - NUM(0.5) / x - series - sum);
}

// The derivative of digamma(x), in the same ways, with B_2k as coefficients (DLMF 5.15.6, 5.15.8).
// It is inf at every pole. PyTorch gives a large number at those below 0, because it rounds pi x.
DEVICE REAL FN(trigamma)(REAL x) {
  REAL sign = 1, result = 0;
  if (x < NUM(0.5)) {
    const REAL pi = NUM(3.14159265358979324);
    const REAL sine = sin(pi * FN(special_fraction)(x));
    sign = -1;
    result = -(pi / sine) * (pi / sine);
    x = 1 - x;
  }
  REAL sum = 0;
  while (x < 10) {
    sum += 1 / (x * x);
    x += 1;
  }
  const REAL z = 1 / (x * x);
  const REAL series =
      z * POLY7(z, 1.66666666666666667e-1, -3.33333333333333333e-2, 2.38095238095238095e-2,
                -3.33333333333333333e-2, 7.57575757575757576e-2, -2.53113553113553114e-1,
                1.16666666666666667);
  return sign * (result + (sum + (1 + NUM(0.5) / x + series) / x));
}

// The sum of (q + k)^-x over k = 0, 1, ..., for q > 0 and x > 1: nine terms or more, and the rest
// by Euler's and Maclaurin's formula with (2k)! / B_2k as its divisors (DLMF 25.11.7).
DEVICE REAL FN(special_zeta_above)(REAL x, REAL q) {
  REAL sum = pow(q, -x), a = q, b = 0;
  for (i32 i = 0; i < 9 || a <= 9; ++i) {
    a += 1;
    b = pow(a, -x);
    sum += b;
    if (b < NUM(0.5) * REAL_EPS * sum) return sum;
  }
  // Not b * a / (x - 1): b may underflow where this does not.
  sum += pow(a, 1 - x) / (x - 1) - NUM(0.5) * b;
  if (b == 0) return sum;
  REAL factor = x * b / a, k = 0, term;
#define ZETA_TERM(divisor)                                \
  term = factor / NUM(divisor);                           \
  sum += term;                                            \
  if (fabs(term) < NUM(0.5) * REAL_EPS * sum) return sum; \
  factor *= ((x + k + 1) / a) * ((x + k + 2) / a);        \
  k += 2
  ZETA_TERM(12.0);
  ZETA_TERM(-720.0);
  ZETA_TERM(30240.0);
  ZETA_TERM(-1209600.0);
  ZETA_TERM(47900160.0);
  ZETA_TERM(-1.89243758031837916e9);
  ZETA_TERM(7.47242496e10);
  ZETA_TERM(-2.95013072791816422e12);
  ZETA_TERM(1.16467828143500672e14);
  ZETA_TERM(-4.59797872240747261e15);
  ZETA_TERM(1.81521054019435467e17);
  ZETA_TERM(-7.16616525617566701e18);
#undef ZETA_TERM
  return sum;
}

// Hurwitz's zeta function: the sum of (q + k)^-x over k = 0, 1, ... Below q = 0 it has poles, and x
// must be an integer. There -q is g + m, with g between 0 and 1: the terms are those of g, g + 1,
// ... g + m, as the difference of two sums, and those of 1 - g, 2 - g, ... Unlike in
// PyTorch, the time does not depend on q.
DEVICE REAL FN(zeta)(REAL x, REAL q) {
  if (x == 1) return (REAL)INF;
  if (x < 1) return (REAL)NOT_A_NUMBER;
  if (!(q <= 0)) return FN(special_zeta_above)(x, q);
  if (q == floor(q)) return (REAL)INF;
  if (x != floor(x)) return (REAL)NOT_A_NUMBER;
  const REAL g = -q - floor(-q);
  const REAL sign = x == 2 * floor(x * NUM(0.5)) ? (REAL)1 : (REAL)-1;
  const REAL below = FN(special_zeta_above)(x, g) - FN(special_zeta_above)(x, 1 - q);
  return sign * below + FN(special_zeta_above)(x, 1 - g);
}

// The n-th derivative of digamma(x), for an integer n >= 0 (DLMF 25.11.12).
DEVICE REAL FN(polygamma)(REAL n, REAL x) {
  if (n == 0) return FN(digamma)(x);
  if (n == 1) return FN(trigamma)(x);
  if (!(n > 0)) return (REAL)NOT_A_NUMBER;
  REAL factorial = 1;
  for (REAL k = 2; k <= n && k <= 171; k += 1) factorial *= k;
  const REAL sign = n == 2 * floor(n * NUM(0.5)) ? (REAL)-1 : (REAL)1;
  return sign * factorial * FN(zeta)(n + 1, x);
}
