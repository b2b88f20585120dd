// The regularized incomplete gamma functions (DLMF chapter 8): igamma(a, x) is P(a, x), the lower
// one, and igammac(a, x) is Q(a, x) = 1 - P(a, x). The methods below, and the ranges in which they
// are used, are PyTorch's, except for the expansion for large a. It begins at a = 200, where few of
// its coefficients matter, and serves all x from 0.7 a to 1.3 a. Read by special.h.

// log(1 + x) - x, also for small x: log(1 + x) = 2 artanh(s) with s = x / (2 + x) (DLMF 4.6.4).
DEVICE REAL FN(special_log1p_less)(REAL x) {
  if (x < NUM(-0.5) || x > 1) return log1p(x) - x;
  const REAL s = x / (2 + x), z = s * s;
  REAL sum = 0;
#ifdef REAL_IS_F64
  const i32 last = 33;
#else
  const i32 last = 15;
#endif
  for (i32 k = last; k > 1; k -= 2) sum = sum * z + 1 / (REAL)k;
  return s * (2 * z * sum - x);
}

// log(gamma(1 + a)) for 0 <= a <= 2. The second term corrects for the rounding of 1 + a, with
// digamma(1) and its slope.
DEVICE REAL FN(special_lgamma1p)(REAL a) {
  const REAL b = 1 + a;
  return lgamma(b) + (a - (b - 1)) * (NUM(1.64493406684822644) * a - NUM(0.577215664901532861));
}

// x^a exp(-x) / gamma(1 + a). Above a = 20, gamma is Stirling's formula, and the powers of a and x
// are one power, so that neither overflows.
DEVICE REAL FN(special_igamma_factor)(REAL a, REAL x) {
  if (a <= 20) {
    if (x > 1000) return 0;
    const REAL root = pow(x, a * NUM(0.5)) * exp(x * NUM(-0.5));
    return root / tgamma(1 + a) * root;
  }
  const REAL relative = (x - a) / a, z = 1 / (a * a);
  const REAL exponent =
      relative < NUM(-0.5) ? log(x / a) - relative : FN(special_log1p_less)(relative);
  const REAL stirling = POLY5(z, 8.33333333333333333e-2, -2.77777777777777778e-3,
                              7.93650793650793651e-4, -5.95238095238095238e-4,
                              8.41750841750841751e-4) /
                        a;  // DLMF 5.11.1
  return exp(a * exponent - stirling) * NUM(0.398942280401432678) / sqrt(a);
}

// P(a, x) by its power series (DLMF 8.11.4).
DEVICE REAL FN(special_igamma_series)(REAL a, REAL x) {
  const REAL factor = FN(special_igamma_factor)(a, x);
  if (factor == 0) return 0;
  REAL sum = 1, term = 1;
  for (i32 i = 1; i < 500 && term > NUM(0.25) * REAL_EPS * sum; ++i) {
    term *= x / (a + i);
    sum += term;
  }
  return factor * sum;
}

// Q(a, x) for small a and x, by a series without cancellation (DLMF 8.7.3).
DEVICE REAL FN(special_igammac_series)(REAL a, REAL x) {
  REAL power = 1, sum = 0, term = 1;
  for (i32 i = 1; i < 100 && fabs(term) > NUM(0.25) * REAL_EPS * fabs(sum); ++i) {
    power *= -x / i;
    term = power / (a + i);
    sum += term;
  }
  const REAL exponent = a * log(x) - FN(special_lgamma1p)(a);
  return -expm1(exponent) - a * exp(exponent) * sum;
}

// Q(a, x) for x >= a by its continued fraction (DLMF 8.9.2), with W. J. Lentz's method.
DEVICE REAL FN(special_igammac_fraction)(REAL a, REAL x) {
  const REAL factor = FN(special_igamma_factor)(a, x) * a;
  if (factor == 0) return 0;
  REAL b = x + 1 - a, c = 0, d = 1 / b, result = d, change = 2;
  for (i32 i = 1; i < 500 && fabs(change - 1) > REAL_EPS; ++i) {
    const REAL numerator = i * (a - i);
    b += 2;
    d = 1 / (b + numerator * d);
    c = i == 1 ? b : b + numerator / c;
    change = c * d;
    result *= change;
  }
  return factor * result;
}

// Q(a, x), or P(a, x) with sign -1, for large a and x near a: N. M. Temme's uniform expansion (DLMF
// 8.12.3, 8.12.4, 8.12.8). The coefficients were computed for this file, as fractions, with DLMF
// 8.12.11 and 8.12.12.
DEVICE REAL FN(special_igamma_uniform)(REAL a, REAL x, REAL sign) {
  const REAL relative = (x - a) / a, half_square = -FN(special_log1p_less)(relative);
  const REAL size = sqrt(2 * half_square), eta = relative < 0 ? -size : size;
#ifdef REAL_IS_F64
  const REAL c0 =
      POLY17(eta, -3.33333333333333333e-1, 8.33333333333333333e-2, -1.48148148148148148e-2,
             1.15740740740740741e-3, 3.527336860670194e-4, -1.78755144032921811e-4,
             3.91926317852243778e-5, -2.18544851067999216e-6, -1.85406221071515996e-6,
             8.29671134095308601e-7, -1.76659527368260793e-7, 6.70785354340149858e-9,
             1.0261809784240308e-8, -4.38203601845335319e-9, 9.14769958223679023e-10,
             -2.55141939949462498e-11, -5.83077213255042507e-11);
  const REAL c1 = POLY14(eta, -1.85185185185185185e-3, -3.47222222222222222e-3,
                         2.6455026455026455e-3, -9.90226337448559671e-4, 2.05761316872427984e-4,
                         -4.01877572016460905e-7, -1.80985503344899778e-5, 7.64916091608111008e-6,
                         -1.6120900894563446e-6, 4.64712780280743434e-9, 1.37863344691572096e-7,
                         -5.75254560351770496e-8, 1.19516285997781473e-8, -1.75432417197476476e-11);
  const REAL c2 =
      POLY12(eta, 4.1335978835978836e-3, -2.68132716049382716e-3, 7.71604938271604938e-4,
             2.00938786008230453e-6, -1.07366532263651605e-4, 5.29234488291201254e-5,
             -1.27606351886187277e-5, 3.42357873409613807e-8, 1.37219573090629332e-6,
             -6.29899213838005502e-7, 1.42806142060642418e-7, -2.0477098421990866e-10);
  const REAL c3 =
      POLY9(eta, 6.49434156378600823e-4, 2.29472093621399177e-4, -4.69189494395255712e-4,
            2.67720632062838853e-4, -7.56180167188397641e-5, -2.39650511386729665e-7,
            1.10826541153473024e-5, -5.67495282699159657e-6, 1.42309007324358839e-6);
  const REAL c4 = POLY7(eta, -8.61888290916711699e-4, 7.84039221720066627e-4,
                        -2.9907248030319018e-4, -1.46384525788434182e-6, 6.64149821546512219e-5,
                        -3.96836504717943466e-5, 1.13757269706784191e-5);
  const REAL c5 = POLY4(eta, -3.3679855336635815e-4, -6.97281375836585777e-5,
                        2.77275324495939208e-4, -1.99325705161888477e-4);
  const REAL sum = c0 + (c1 + (c2 + (c3 + (c4 + c5 / a) / a) / a) / a) / a;
#else
  const REAL c0 =
      POLY9(eta, -3.33333333333333333e-1, 8.33333333333333333e-2, -1.48148148148148148e-2,
            1.15740740740740741e-3, 3.527336860670194e-4, -1.78755144032921811e-4,
            3.91926317852243778e-5, -2.18544851067999216e-6, -1.85406221071515996e-6);
  const REAL c1 = POLY5(eta, -1.85185185185185185e-3, -3.47222222222222222e-3,
                        2.6455026455026455e-3, -9.90226337448559671e-4, 2.05761316872427984e-4);
  const REAL c2 = NUM(4.13359788359788359e-3);
  const REAL sum = c0 + (c1 + c2 / a) / a;
#endif
  const REAL rest = exp(-a * half_square) * sum * NUM(0.398942280401432678) / sqrt(a);
  return NUM(0.5) * erfc(sign * eta * sqrt(a * NUM(0.5))) + sign * rest;
}

// P(a, x) on the edge of the domain and NaN outside, by the same checks in the same order as in
// PyTorch, so that NaN arguments give what they give there. -1 inside.
DEVICE REAL FN(special_igamma_edge)(REAL a, REAL x) {
  const REAL inf = (REAL)INF, nan = (REAL)NOT_A_NUMBER;
  if (x < 0 || a < 0) return nan;
  if (a == 0) return x > 0 ? (REAL)1 : nan;
  if (x == 0) return 0;
  if (a == inf) return x == inf ? nan : (REAL)0;
  return x == inf ? (REAL)1 : (REAL)-1;
}

// The upper incomplete gamma function, Q(a, x).
DEVICE REAL FN(igammac)(REAL a, REAL x) {
  const REAL edge = FN(special_igamma_edge)(a, x);
  if (edge != -1) return 1 - edge;
  if (a > 200 && fabs(x - a) <= NUM(0.3) * a) return FN(special_igamma_uniform)(a, x, 1);
  if (x > NUM(1.1)) {
    return x < a ? 1 - FN(special_igamma_series)(a, x) : FN(special_igammac_fraction)(a, x);
  }
  // Q is smaller than P for a up to about this.
  const REAL border = x > NUM(0.5) ? x * NUM(1.1) : NUM(-0.4) / log(x);
  return a > border ? 1 - FN(special_igamma_series)(a, x) : FN(special_igammac_series)(a, x);
}

// The lower incomplete gamma function, P(a, x).
DEVICE REAL FN(igamma)(REAL a, REAL x) {
  const REAL edge = FN(special_igamma_edge)(a, x);
  if (edge != -1) return edge;
  if (a > 200 && fabs(x - a) <= NUM(0.3) * a) return FN(special_igamma_uniform)(a, x, -1);
  if (x > 1 && x > a) return 1 - FN(igammac)(a, x);
  return FN(special_igamma_series)(a, x);
}
