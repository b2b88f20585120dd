// The dialect's words in OpenCL C 1.2 and later.
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#ifdef HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
#endif

#define GLOBAL __global
#define DEVICE static inline
#define KERNEL(name, ...) \
  __kernel __attribute__((reqd_work_group_size(LSIZE, 1, 1))) void name(__VA_ARGS__)
#define LOCAL(T, name, n) __local T name[n]
#define LID ((i32)get_local_id(0))
#define GROUP ((i64)get_group_id(0))
#define GROUPS ((i64)get_num_groups(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)

#define bits_of_f32(x) as_uint(x)
#define f32_of_bits(x) as_float(x)
#ifdef HAS_F64
#define bits_of_f64(x) as_ulong(x)
#define f64_of_bits(x) as_double(x)
#endif
// Every driver's compiler converts half. But clang's SPIR-V computes with it to do so, which some
// devices do not.
#if !defined(__SPIRV__) || defined(HAS_F16)
#define HAS_F16_CONVERSION
DEVICE f32 f32_of_f16(u16 x) {
  return vload_half(0, (const __private half*)&x);
}
DEVICE u16 f16_of_f32(f32 x) {
  u16 y;
  vstore_half_rte(x, 0, (__private half*)&y);
  return y;
}
#endif

DEVICE u32 swap_u32(volatile GLOBAL u32* p, u32 old, u32 now) {
  return atomic_cmpxchg(p, old, now);
}
#ifdef HAS_I64_ATOMICS
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
DEVICE u64 swap_u64(volatile GLOBAL u64* p, u64 old, u64 now) {
  return atom_cmpxchg(p, old, now);
}
#endif
