// The dialect's words in CUDA C++ and HIP, for NVRTC, nvcc, hiprtc and clang.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
#ifndef HAS_F64  // every device computes with it
#define HAS_F64
#endif
#ifndef HAS_I64_ATOMICS
#define HAS_I64_ATOMICS
#endif

#define GLOBAL
#define DEVICE [[maybe_unused]] static __device__ __forceinline__
#define KERNEL(name, ...) extern "C" __global__ void __launch_bounds__(LSIZE) name(__VA_ARGS__)
#define LOCAL(T, name, n) __shared__ T name[n]
#define LID ((i32)threadIdx.x)
#define GROUP ((i64)blockIdx.x)
#define GROUPS ((i64)gridDim.x)
#define BARRIER __syncthreads()

#define bits_of_f32(x) __float_as_uint(x)
#define f32_of_bits(x) __uint_as_float(x)
#define bits_of_f64(x) ((u64)__double_as_longlong(x))
#define f64_of_bits(x) __longlong_as_double((i64)(x))
#define HAS_F16_CONVERSION
#if defined(__HIP__)
DEVICE f32 f32_of_f16(u16 x) {
  return (f32) __builtin_bit_cast(_Float16, x);
}
DEVICE u16 f16_of_f32(f32 x) {
  return __builtin_bit_cast(u16, (_Float16)x);
}
#else
DEVICE f32 f32_of_f16(u16 x) {
  f32 y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
DEVICE u16 f16_of_f32(f32 x) {
  u16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
#endif

DEVICE u32 swap_u32(volatile u32* p, u32 old, u32 now) {
  return atomicCAS((u32*)p, old, now);
}
DEVICE u64 swap_u64(volatile u64* p, u64 old, u64 now) {
  return atomicCAS((u64*)p, old, now);
}
#define HAS_F32_ATOMICS
DEVICE void atomic_add_to_f32(f32* p, f32 v) {
  atomicAdd(p, v);
}
