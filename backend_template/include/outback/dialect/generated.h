// Functions that torch.compile's kernels call (module/_outback/compile/portable).
#ifndef OUTBACK_DIALECT_GENERATED_H
#define OUTBACK_DIALECT_GENERATED_H

// The type of numbers that are not whole and that the host computes with float64, and a constant of
// that type.
#ifdef HAS_F64
typedef f64 wide;
#define WIDE(x) x
#else
typedef f32 wide;
#define WIDE(x) x##f
#endif

// Regions in which the groups share the elements of a matrix by square tiles, so that memory which
// is read along one side and written along the other is used whole while it is near.
#define TILE 16
#define TILES(n) (((n) + TILE - 1) / TILE)
#define EACH_PAIR(x, nx, y, ny)                                                              \
  ROWS(tile_, TILES(nx) * TILES(ny))                                                         \
  ITEMS LANES(in_tile_, TILE* TILE) for (i64 x = tile_ % TILES(nx) * TILE + in_tile_ % TILE, \
                                         y = tile_ / TILES(nx) * TILE + in_tile_ / TILE,     \
                                         once_ = x < nx && y < ny;                           \
                                         once_ != 0; once_ = 0)

// ---- Whole numbers. Division by 0 gives some number, and no signal.
DEVICE i64 whole_quotient(i64 a, i64 b) {
  return b == 0 ? -1 : b == -1 ? (i64)(0 - (u64)a) : a / b;
}
DEVICE i64 whole_fmod(i64 a, i64 b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
DEVICE i64 floor_remainder(i64 a, i64 b) {
  const i64 rest = whole_fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
DEVICE i64 floor_quotient(i64 a, i64 b) {
  const i64 rest = whole_fmod(a, b), quotient = whole_quotient(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? quotient - 1 : quotient;
}
DEVICE i64 whole_power(i64 a, i64 b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  u64 result = 1, factor = (u64)a;
  for (; b != 0; b >>= 1) {
    if (b & 1) result *= factor;
    factor *= factor;
  }
  return (i64)result;
}
DEVICE i64 whole_size(i64 a) {
  return a < 0 ? -a : a;
}
// By as many bits as the type has, or by a negative number, they are what PyTorch makes of them.
#define BITS_OF(T) ((i64)sizeof(T) * 8)
#define SHIFTED_LEFT(T, a, b) \
  ((i64)(b) < 0 || (i64)(b) >= BITS_OF(T) ? (T)0 : (T)((u64)(a) << (i64)(b)))
#define SHIFTED_RIGHT(T, a, b) \
  ((i64)(b) < 0 || (i64)(b) >= BITS_OF(T) ? (T)((a) < 0 ? -1 : 0) : (T)((a) >> (i64)(b)))

// ---- Random numbers by Philox4x32-10, one for each offset: (0, 0, offset) under the seed.
typedef struct {
  u32 word[4];
} four_words;
DEVICE four_words random_words(u64 seed, u64 offset) {
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
  four_words x;
  x.word[0] = x.word[1] = 0;
  x.word[2] = (u32)offset;
  x.word[3] = (u32)(offset >> 32);
  for (i32 round = 0; round < 10; ++round) {
    const u64 a = (u64)0xD2511F53u * x.word[0], b = (u64)0xCD9E8D57u * x.word[2];
    const u32 first = (u32)(b >> 32) ^ x.word[1] ^ k0, third = (u32)(a >> 32) ^ x.word[3] ^ k1;
    x.word[0] = first;
    x.word[1] = (u32)b;
    x.word[2] = third;
    x.word[3] = (u32)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return x;
}
DEVICE f32 random_unit(u32 word) {
  return (f32)(word >> 8) * (1.0f / 16777216.0f);
}
DEVICE f32 random_uniform(u64 seed, u64 offset) {
  const four_words x = random_words(seed, offset);
  return random_unit(x.word[0]);
}
DEVICE f32 random_normal(u64 seed, u64 offset) {
  const four_words x = random_words(seed, offset);
  return sqrt(-2.0f * log(1.0f - random_unit(x.word[0]))) *
         cos(6.2831853071795864769f * random_unit(x.word[1]));
}
DEVICE i64 random_integer(u64 seed, u64 offset, i64 low, i64 high) {
  const four_words x = random_words(seed, offset);
  const u64 range = (u64)high - (u64)low, word = (u64)x.word[0] | (u64)x.word[1] << 32;
  return (i64)((u64)low + (range == 0 ? word : word % range));
}
#endif
