// Products with a logarithm that are 0 where a factor is, and sinc. Read by special.h.

// -x log(x); 0 at 0, and -inf below it.
DEVICE REAL FN(entr)(REAL x) {
  if (x != x) return x;
  if (x > 0) return -x * log(x);
  return x == 0 ? (REAL)0 : -(REAL)INF;
}

// x log(y), which is 0 where x is 0, unless y is NaN.
DEVICE REAL FN(xlogy)(REAL x, REAL y) {
  if (y != y) return y;
  return x == 0 ? (REAL)0 : x * log(y);
}

// x log(1 + y), which is 0 where x is 0, unless y is NaN.
DEVICE REAL FN(xlog1py)(REAL x, REAL y) {
  if (y != y) return y;
  return x == 0 ? (REAL)0 : x * log1p(y);
}

// x less the nearest integer: from -0.5 to 0.5, and exact. The period of tan(pi x).
DEVICE REAL FN(special_fraction)(REAL x) {
  return x - floor(x + NUM(0.5));
}

// sin(pi x) / (pi x). The sine is that of the fraction, so zeros are 0 where PyTorch has about
// REAL_EPS, because it rounds pi x first.
DEVICE REAL FN(sinc)(REAL x) {
  if (x == 0) return 1;
  const REAL pi = NUM(3.14159265358979324), whole = floor(x + NUM(0.5));
  const REAL sine = sin(pi * (x - whole));
  return (whole == 2 * floor(whole * NUM(0.5)) ? sine : -sine) / (pi * x);
}
