// The dialect's words in the made-up language (language.hpp): what a vendor with a language of its
// own writes.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long i64;
typedef unsigned long u64;
typedef float f32;

#define GLOBAL far
#define DEVICE static inline
#define KERNEL(name, ...) entry(name, __VA_ARGS__)
#define LOCAL(T, name, n) near_memory(T, name, n)
#define LID ((i32)unit_number())
#define GROUP ((i64)team_number())
#define GROUPS ((i64)team_count())
#define BARRIER meet()

DEVICE u32 bits_of_f32(f32 x) {
  union {
    f32 value;
    u32 bits;
  } both;
  both.value = x;
  return both.bits;
}
DEVICE f32 f32_of_bits(u32 x) {
  union {
    u32 bits;
    f32 value;
  } both;
  both.bits = x;
  return both.value;
}
DEVICE u32 swap_u32(volatile GLOBAL u32* p, u32 old, u32 now) {
  return exchange_if_equal(p, old, now);
}
#define rsqrt(x) inverse_root(x)
