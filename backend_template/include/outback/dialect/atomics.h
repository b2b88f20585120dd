// Additions to the device's memory that no other item's addition gets lost in. The order of the
// additions is any, so a sum of floats may differ from run to run in its last bits.
#ifndef HAS_F32_ATOMICS
DEVICE void atomic_add_to_f32(GLOBAL f32* p, f32 v) {
  volatile GLOBAL u32* q = (volatile GLOBAL u32*)p;
  u32 old = *q, seen;
  while ((seen = swap_u32(q, old, bits_of_f32(f32_of_bits(old) + v))) != old) old = seen;
}
#endif
// Returns what was there.
DEVICE u32 atomic_add_to_u32(volatile GLOBAL u32* p, u32 v) {
  u32 old = *p, seen;
  while ((seen = swap_u32(p, old, old + v)) != old) old = seen;
  return old;
}
DEVICE void atomic_add_to_i32(GLOBAL i32* p, i32 v) {
  atomic_add_to_u32((volatile GLOBAL u32*)p, (u32)v);
}
// Needs no operations of 64 bits: additions to the lower half carry to the upper one, in any order.
// While others add, *p may be a number that is no sum.
DEVICE void atomic_add_to_i64(GLOBAL i64* p, i64 v) {
  volatile GLOBAL u32* halves = (volatile GLOBAL u32*)p;  // the lower one first
  const u32 low = (u32)v, sum = atomic_add_to_u32(&halves[0], low) + low;
  const u32 high = (u32)((u64)v >> 32) + (sum < low ? 1u : 0u);
  if (high != 0) atomic_add_to_u32(&halves[1], high);
}
// Adds to one of the two halves of an aligned word of 32 bits.
#define OUTBACK_ATOMIC_ADD_16(T)                                                    \
  DEVICE void atomic_add_to_##T(GLOBAL T* p, f32 v) {                               \
    const u32 shift = ((u64)p & 2u) != 0 ? 16u : 0u;                                \
    volatile GLOBAL u32* q = (volatile GLOBAL u32*)((GLOBAL u8*)p - ((u64)p & 2u)); \
    u32 old = *q, seen;                                                             \
    for (;;) {                                                                      \
      const u32 sum = T##_of_f32(f32_of_##T((u16)(old >> shift)) + v);              \
      seen = swap_u32(q, old, (old & ~(0xffffu << shift)) | (sum << shift));        \
      if (seen == old) break;                                                       \
      old = seen;                                                                   \
    }                                                                               \
  }
OUTBACK_ATOMIC_ADD_16(f16)
OUTBACK_ATOMIC_ADD_16(bf16)
#undef OUTBACK_ATOMIC_ADD_16
// Adds to an integer within an aligned word of 32 bits, and carries nothing to its neighbours.
#define OUTBACK_ATOMIC_ADD_PART(T, bits)                                                           \
  DEVICE void atomic_add_to_##T(GLOBAL T* p, T v) {                                                \
    const u32 at = (u32)((u64)p & 3u), shift = at * 8u, mask = ((1u << bits) - 1) << shift;        \
    volatile GLOBAL u32* q = (volatile GLOBAL u32*)((GLOBAL u8*)p - at);                           \
    u32 old = *q, seen;                                                                            \
    while ((seen = swap_u32(q, old, (old & ~mask) | ((old + ((u32)v << shift)) & mask))) != old) { \
      old = seen;                                                                                  \
    }                                                                                              \
  }
OUTBACK_ATOMIC_ADD_PART(i16, 16)
OUTBACK_ATOMIC_ADD_PART(i8, 8)
OUTBACK_ATOMIC_ADD_PART(u8, 8)
#undef OUTBACK_ATOMIC_ADD_PART
#if defined(HAS_F64) && defined(HAS_I64_ATOMICS)
DEVICE void atomic_add_to_f64(GLOBAL f64* p, f64 v) {
  volatile GLOBAL u64* q = (volatile GLOBAL u64*)p;
  u64 old = *q, seen;
  while ((seen = swap_u64(q, old, bits_of_f64(f64_of_bits(old) + v))) != old) old = seen;
}
#endif
