// The polynomials of Hermite, Laguerre and Legendre, by their recurrences (DLMF 18.9.1). The degree
// n is a float, as in chebyshev.h. Read by special.h.

// PyTorch's Hermite polynomials are NaN above this degree.
#ifdef REAL_IS_F64
#define HERMITE_LIMIT 512
#else
#define HERMITE_LIMIT 128
#endif

// Hermite's polynomials H, the physicist's.
DEVICE REAL FN(hermite_polynomial_h)(REAL x, REAL n) {
  const i64 degree = FN(special_degree)(n);
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  if (degree > HERMITE_LIMIT) return (REAL)NOT_A_NUMBER;
  REAL before = 1, value = x + x;
  for (i32 k = 1; k < (i32)degree; ++k) {
    const REAL next = (x + x) * value - (REAL)(2 * k) * before;
    before = value;
    value = next;
  }
  return value;
}

// Hermite's polynomials He, the probabilist's.
DEVICE REAL FN(hermite_polynomial_he)(REAL x, REAL n) {
  const i64 degree = FN(special_degree)(n);
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  if (degree > HERMITE_LIMIT) return (REAL)NOT_A_NUMBER;
  REAL before = 1, value = x;
  for (i32 k = 1; k < (i32)degree; ++k) {
    const REAL next = x * value - (REAL)k * before;
    before = value;
    value = next;
  }
  return value;
}
#undef HERMITE_LIMIT

// Laguerre's polynomials.
DEVICE REAL FN(laguerre_polynomial_l)(REAL x, REAL n) {
  const i64 degree = FN(special_degree)(n);
  if (degree < 0) return 0;
  if (degree == 0 || x == 0) return 1;
  REAL before = 1, value = 1 - x;
  for (i64 k = 1; k < degree && value == value; ++k) {
    const REAL next = (((REAL)(2 * k) + (1 - x)) * value - (REAL)k * before) / (REAL)(k + 1);
    before = value;
    value = next;
  }
  return value;
}

// Legendre's polynomials.
DEVICE REAL FN(legendre_polynomial_p)(REAL x, REAL n) {
  const i64 degree = FN(special_degree)(n);
  if (degree < 0) return 0;
  if (fabs(x) == 1) return x < 0 ? FN(special_parity)(degree) : (REAL)1;
  if (degree == 0) return 1;
  REAL before = 1, value = x;
  for (i64 k = 1; k < degree && value == value; ++k) {
    const REAL next = ((REAL)(2 * k + 1) * x * value - (REAL)k * before) / (REAL)(k + 1);
    before = value;
    value = next;
  }
  return value;
}
