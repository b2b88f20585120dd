// Functions that bodies call, for the type C.
#if IS_FLOATING
DEVICE C N(remainder_of)(C a, C b) {
  const C rest = fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
// As Python's float division (floatobject.c), whose result is exact where the quotient is.
DEVICE C N(floor_divide_of)(C a, C b) {
  if (b == 0) return a / b;
  const C rest = fmod(a, b);
  C quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return copysign((C)0, a / b);
  const C whole = floor(quotient);
  return quotient - whole > (C)0.5f ? whole + 1 : whole;
}
DEVICE C N(log_add_exp_of)(C a, C b) {
  if (isinf(a) && a == b) return a;
  const C most = a > b ? a : b, least = a > b ? b : a;
  return a != a || b != b ? a + b : most + log1p(exp(least - most));
}
DEVICE C N(log_add_exp2_of)(C a, C b) {
  if (isinf(a) && a == b) return a;
  const C most = a > b ? a : b, least = a > b ? b : a;
  return a != a || b != b ? a + b
                          : most + log1p(exp2(least - most)) * LITERAL(1.4426950408889634074);
}
DEVICE C N(sigmoid_of)(C a) {
  return 1 / (1 + exp(-a));
}
DEVICE C N(mish_backward_of)(C grad, C a) {
  const C soft = tanh(log1p(exp(a)));
  return grad * (soft + a * N(sigmoid_of)(a) * (1 - soft * soft));
}
DEVICE C N(gelu_tanh_backward_of)(C grad, C a) {
  const C beta = LITERAL(0.79788456080286535588), kappa = LITERAL(0.044715);
  const C inner = beta * (a + kappa * a * a * a), curve = tanh(inner);
  return grad * ((C)0.5f * (1 + curve) +
                 (C)0.5f * a * (1 - curve * curve) * beta * (1 + 3 * kappa * a * a));
}
DEVICE C N(smooth_l1_of)(C difference, C beta) {
  const C size = fabs(difference);
  return size < beta ? (C)0.5f * size * size / beta : size - (C)0.5f * beta;
}
DEVICE C N(huber_of)(C difference, C delta) {
  const C size = fabs(difference);
  return size <= delta ? (C)0.5f * size * size : delta * (size - (C)0.5f * delta);
}
DEVICE C N(logit_of)(C a, C eps) {
  const C x = eps < 0 ? a : a < eps ? eps : a > 1 - eps ? 1 - eps : a;
  return x == 1 ? (C)INF : log(x / (1 - x));
}
DEVICE C N(logit_backward_of)(C grad, C a, C eps) {
  const C least = eps < 0 ? (C)0 : eps;
  if (a < least || a > 1 - least) return eps < 0 ? (C)NOT_A_NUMBER : (C)0;
  return a == 0 || a == 1 ? grad * (C)INF : grad / (a * (1 - a));
}
// frexp leaves the exponent open for infinities and NaN: PyTorch's is 0.
DEVICE C N(exponent_of)(C a) {
  i32 exponent = 0;
  frexp(a, &exponent);
  return a - a == 0 ? (C)exponent : (C)0;
}
DEVICE C N(mantissa_of)(C a) {
  i32 exponent = 0;
  return frexp(a, &exponent);
}
#define BITS_f32 u32
#define BITS_f64 u64
#define BITS JOIN(BITS_, C)
// The next number of a type T that C contains: `step` is the distance in C's bits, `least` is T's
// smallest number above 0, and `normal` the smallest one that has the precision of `step`; below it
// numbers are `least` apart. `normal` is 0 for types with C's exponents.
DEVICE C N(next_after_of)(C a, C b, C step, C least, C normal) {
  if (a != a || b != b) return a + b;
  if (a == b) return b;
  if (a == 0) return b > 0 ? least : -least;
  const i32 grows = (b > a) == (a > 0);
  C size = fabs(a);
  if (size < normal || (size == normal && !grows)) {
    return copysign(grows ? size + least : size - least, a);
  }
  if (normal != 0 && size == INF) size = 65536;  // what float16 has no room for is infinite
  const BITS bits = JOIN(bits_of_, C)(size);
  const BITS moved = grows ? bits + (BITS)step : bits - (BITS)step;
  return copysign(JOIN(C, _of_bits)(moved), a);
}
// Rounded as PyTorch's kernels for the CPU do: the scale and its inverse are float32.
DEVICE C N(quantized)(C a, C scale, C zero_point, C rounds_sum) {
  const C steps = a * (C)(1 / (f32)scale);
  return rounds_sum != 0 ? rint(zero_point + steps) : zero_point + rint(steps);
}
DEVICE C N(quantize_by_scale)(C a, C scale, C zero_point, C least, C most, C q) {
  if (!(q >= least)) return least - zero_point;
  return q > most ? most - zero_point : ((q - zero_point) * scale - a) / scale;
}
#else
// Division by 0 gives what the devices of most vendors give, and no signal.
DEVICE C N(truncated_quotient)(C a, C b) {
  return b == 0 ? -1 : b == -1 ? (C)(0 - (u64)a) : a / b;
}
DEVICE C N(fmod_of)(C a, C b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
DEVICE C N(remainder_of)(C a, C b) {
  const C rest = N(fmod_of)(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
DEVICE C N(floor_divide_of)(C a, C b) {
  const C rest = N(fmod_of)(a, b), quotient = N(truncated_quotient)(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? quotient - 1 : quotient;
}
// By squaring. A negative exponent gives what a whole number can be: 0, or 1 and -1 for those.
DEVICE C N(power_of)(C a, C b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  u64 result = 1, factor = (u64)a;
  for (; b != 0; b >>= 1) {
    if (b & 1) result *= factor;
    factor *= factor;
  }
  return (C)result;
}
DEVICE C N(gcd_of)(C a, C b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (a != 0) {
    const C rest = b % a;
    b = a;
    a = rest;
  }
  return b;
}
DEVICE C N(lcm_of)(C a, C b) {
  const C divisor = N(gcd_of)(a, b);
  const C product = divisor == 0 ? 0 : N(truncated_quotient)(a, divisor) * b;
  return product < 0 ? -product : product;
}
#endif
