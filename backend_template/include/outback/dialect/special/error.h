// Functions that belong to the error function and to the normal distribution. Read by special.h.

// exp(s x^2) for x >= 0, without the rounding of x^2, which would grow with the exponent: h has few
// bits, so its square is exact, and x^2 - h^2 = (x - h) (x + h).
DEVICE REAL FN(special_exp_square)(REAL s, REAL x) {
  const REAL h = floor(x * 128) * NUM(0.0078125);
  return exp(s * (h * h)) * exp(s * ((x - h) * (x + h)));
}

// exp(x^2) erfc(x) for x >= 0: (1 + 2 x) times it is a Chebyshev series in (x - 3) / (x + 3), a
// form of M. M. Shepherd and J. G. Laframboise, Mathematics of Computation 36 (1981). The
// coefficients were computed for this file, with 60 digits.
DEVICE REAL FN(special_erfcx_above)(REAL x) {
  if (x > NUM(1e9)) return NUM(0.564189583547756287) / x;  // where 1 + 2 x may overflow
  const REAL y = 2 * (x - 3) / (x + 3);
  REAL b0 = 0, b1 = 0, b2 = 0;
#ifdef REAL_IS_F64
  CHEBYSHEV3(1.00061116918216676e-16, 2.35141122587814035e-16, -1.51698786902281157e-15);
  CHEBYSHEV3(-7.28794373759267316e-15, 1.97342557454473883e-14, 1.81345020031769624e-13);
  CHEBYSHEV3(-2.07922492859798998e-13, -4.27734006439691082e-12, 1.47571597662347301e-12);
  CHEBYSHEV1(1.03616074459694897e-10);
#endif
  CHEBYSHEV3(-1.46007911993910494e-11, -2.699519049798364e-9, 1.88566852383860279e-9);
  CHEBYSHEV3(7.54982834382509283e-8, -1.8075227904148371e-7, -2.00722856590599144e-6);
  CHEBYSHEV3(1.28415328640566707e-5, 1.76617195231715919e-5, -6.33553171055314694e-4);
  CHEBYSHEV3(4.45342606146271157e-3, -1.89765967078452074e-2, 5.43665255574432205e-2);
  CHEBYSHEV3(-9.37755034228420905e-2, 5.35390453961567677e-3, 2.35512514839312009);
  return NUM(0.5) * (b0 - b2) / (1 + 2 * x);
}

// exp(x^2) erfc(x)
DEVICE REAL FN(erfcx)(REAL x) {
  if (x >= 0) return FN(special_erfcx_above)(x);
  if (x < -27) return (REAL)INF;
  return 2 * FN(special_exp_square)(1, -x) - FN(special_erfcx_above)(-x);
}

// The normal distribution's integral from x to infinity, for x >= 1.
DEVICE REAL FN(special_normal_tail)(REAL x) {
  if (x > 40) return 0;
  const REAL scaled = FN(special_erfcx_above)(x * NUM(0.707106781186547524));
  return NUM(0.5) * scaled * FN(special_exp_square)(NUM(-0.5), x);
}

// The normal distribution's integral from -infinity to x.
DEVICE REAL FN(ndtr)(REAL x) {
  if (x < -1) return FN(special_normal_tail)(-x);
  if (x > 1) return 1 - FN(special_normal_tail)(x);
  return NUM(0.5) * erfc(x * NUM(-0.707106781186547524));
}

// log(ndtr(x))
DEVICE REAL FN(log_ndtr)(REAL x) {
  if (x < -1) {
    const REAL scaled = FN(special_erfcx_above)(x * NUM(-0.707106781186547524));
    return log(NUM(0.5) * scaled) - NUM(0.5) * x * x;
  }
  if (x > 1) return log1p(-FN(special_normal_tail)(x));
  return log1p(NUM(-0.5) * erfc(x * NUM(0.707106781186547524)));
}
