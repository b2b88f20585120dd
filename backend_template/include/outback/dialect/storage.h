// Storage types, how memory has them, and the types that are computed in. COMPUTED_IN(T) is the
// type that values of T are computed in: f32 for 16-bit floats, i64 for integers and bool.
#define COMPUTED_IN_(T) C_##T
#define COMPUTED_IN(T) COMPUTED_IN_(T)
typedef u16 f16;
typedef u16 bf16;
typedef u8 b8;  // a bool: 0 or 1
#define C_f16 f32
#define C_bf16 f32
#define C_f32 f32
#define C_b8 i64
#define C_u8 i64
#define C_i8 i64
#define C_i16 i64
#define C_i32 i64
#define C_i64 i64
#ifdef HAS_F64
#define C_f64 f64
#endif

#ifndef HAS_F16_CONVERSION
// By integers and f32 alone, after Fabian Giesen's "half_to_float_fast5" and
// "float_to_half_fast3_rtne" (public domain). To the nearest, ties to even; a NaN stays one.
DEVICE f32 f32_of_f16(u16 h) {
  const u32 sign = (u32)(h & 0x8000u) << 16, rest = (u32)(h & 0x7fffu) << 13;
  const u32 exponent = rest & 0x0f800000u;
  if (exponent == 0x0f800000u) return f32_of_bits(sign | (rest + 0x70000000u));  // inf, NaN
  if (exponent == 0) {  // a subnormal or zero: 2^-14 times its fraction
    const f32 value = f32_of_bits(rest + 0x38800000u) - f32_of_bits(0x38800000u);
    return f32_of_bits(sign | bits_of_f32(value));
  }
  return f32_of_bits(sign | (rest + 0x38000000u));
}
DEVICE u16 f16_of_f32(f32 x) {
  const u32 bits = bits_of_f32(x), sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest >= 0x47800000u) return (u16)(sign | (rest > 0x7f800000u ? 0x7e00u : 0x7c00u));
  if (rest < 0x38800000u) {  // the sum rounds to a multiple of the smallest subnormal
    return (u16)(sign | (bits_of_f32(f32_of_bits(rest) + 0.5f) - 0x3f000000u));
  }
  return (u16)(sign | ((rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u)) >> 13));
}
#endif

DEVICE f32 f32_of_bf16(u16 x) {
  return f32_of_bits((u32)x << 16);
}
// To the nearest, ties to even; a NaN stays one.
DEVICE u16 bf16_of_f32(f32 x) {
  const u32 bits = bits_of_f32(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return (u16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#define OUTBACK_STORAGE(T, C, of_memory, to_memory) \
  DEVICE C load_##T(const GLOBAL T* p, i64 i) {     \
    return of_memory(p[i]);                         \
  }                                                 \
  DEVICE void store_##T(GLOBAL T* p, i64 i, C v) {  \
    p[i] = to_memory(v);                            \
  }
OUTBACK_STORAGE(f32, f32, , )
OUTBACK_STORAGE(f16, f32, f32_of_f16, f16_of_f32)
OUTBACK_STORAGE(bf16, f32, f32_of_bf16, bf16_of_f32)
OUTBACK_STORAGE(i64, i64, , )
OUTBACK_STORAGE(i32, i64, (i64), (i32))
OUTBACK_STORAGE(i16, i64, (i64), (i16))
OUTBACK_STORAGE(i8, i64, (i64), (i8))
OUTBACK_STORAGE(u8, i64, (i64), (u8))
#ifdef HAS_F64
OUTBACK_STORAGE(f64, f64, , )
#endif
#undef OUTBACK_STORAGE
// Not by the macro: b8 and u8 are one type.
DEVICE i64 load_b8(const GLOBAL b8* p, i64 i) {
  return p[i] != 0;
}
DEVICE void store_b8(GLOBAL b8* p, i64 i, i64 v) {
  p[i] = v != 0;
}
